#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

FrameId CodeStacks::add(const CodeFrame& frame) {
  const auto [number, is_new] = frame_numbers_.try_emplace(frame, static_cast<uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return {number->second};
}

StackId CodeStacks::push(StackId below, FrameId frame) {
  const uint64_t key = uint64_t{below} << 32 | frame.number;
  const auto [stack, is_new] = known_.try_emplace(key, static_cast<StackId>(stacks_.size()));
  if (is_new) stacks_.push_back({below, frame.number});
  return stack->second;
}

}  // namespace headroom::profiler
