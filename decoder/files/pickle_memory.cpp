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

void PickleMachine::put(uint64_t index) {
  // Picklers number memo entries from 0, so an index is always below the byte count.
  if (index >= arena_.bytes.size()) {
    fail("a memo index below " + std::to_string(arena_.bytes.size()), std::to_string(index));
  }
  if (index >= memo_.size()) {
    check_memory((index + 1 - memo_.size()) * sizeof(uint32_t));
    memo_.resize(index + 1);
  }
  if (memo_[index] == 0) ++memo_count_;
  memo_[index] = top("a value for the memo") + 1;
}

void PickleMachine::get(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == 0) {
    fail("a memo index that was put", std::to_string(index));
  }
  push(memo_[index] - 1);
}

bool PickleMachine::memo(unsigned char opcode) {
  switch (opcode) {
    case 'q':
      put(little_endian(1));
      return true;
    case 'r':
      put(little_endian(4));
      return true;
    case 0x94:
      put(memo_count_);
      return true;
    case 'h':
      get(little_endian(1));
      return true;
    case 'j':
      get(little_endian(4));
      return true;
    default:
      return false;
  }
}

}  // namespace headroom
