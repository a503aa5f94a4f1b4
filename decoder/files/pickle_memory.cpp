#include "decoder/base/errors.h"
#include "decoder/files/pickle_machine.h"

namespace headroom {
namespace {

using pickle_detail::Call;
using pickle_detail::Node;

// Memory snapshots of PyTorch need less than twice their size.
constexpr uint64_t kMostMemoryForByte = 3;
constexpr uint64_t kAlwaysMemory = 48 << 20;

}  // namespace

uint64_t pickle_detail::held(const Arena& arena) {
  return arena.nodes.size() * sizeof(Node) + arena.items.size() * sizeof(uint32_t) +
         arena.calls.size() * sizeof(Call);
}

uint64_t PickleMachine::held_bytes() const {
  return pickle_detail::held(arena_) + marks_.size() * sizeof(size_t) +
         (stack_.size() + memo_.size()) * sizeof(uint32_t) + batches_.size() * sizeof(Batch);
}

void PickleMachine::check_memory(uint64_t more) const {
  if (held_bytes() + more <= kAlwaysMemory + kMostMemoryForByte * at_) return;
  throw InputError(origin_ + ": byte " + std::to_string(opcode_) +
                   ": expected a pickle whose values take at most " + std::to_string(kMostMemoryForByte) +
                   " times its bytes in memory, found more");
}

}  // namespace headroom
