#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

StackId CodeStacks::push(StackId below, const CodeFrame& frame) {
  const auto [number, is_new] = frame_numbers_.try_emplace(frame, static_cast<uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  const uint64_t key = uint64_t{below} << 32 | number->second;
  const auto [stack, is_new_stack] = known_.try_emplace(key, static_cast<StackId>(stacks_.size()));
  if (is_new_stack) stacks_.push_back({below, number->second});
  return stack->second;
}

}  // namespace headroom::profiler
