#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace headroom::profiler {

/// A line of a stack: of Python code or of native code.
struct CodeFrame {
  enum class Kind { code, native };
  Kind kind = Kind::code;
  std::string file;  ///< empty where it is not known
  std::string function;
  int64_t line = 0;  ///< 0: not known
  friend auto operator<=>(const CodeFrame&, const CodeFrame&) = default;
};

/// A stack among CodeStacks: 0 is the empty one.
using StackId = uint32_t;

/// A frame among CodeStacks.
struct FrameId {
  uint32_t number = 0;
};

/// Stacks of any number of allocations, each stored once, and what they have in common at their foot too.
class CodeStacks {
 public:
  CodeStacks() : stacks_(1) {}

  /// The stack that is `below` with `frame` on top.
  StackId push(StackId below, FrameId frame);
  StackId push(StackId below, const CodeFrame& frame) { return push(below, add(frame)); }
  FrameId add(const CodeFrame& frame);  ///< the same for an equal frame

  /// The frame on top of a stack, which must not be empty.
  const CodeFrame& top(StackId stack) const { return frames_[stacks_[stack].frame]; }
  StackId below(StackId stack) const { return stacks_[stack].below; }
  size_t size() const { return stacks_.size(); }  ///< one above the largest id

 private:
  struct Stack {
    StackId below = 0;
    uint32_t frame = 0;
  };
  std::vector<CodeFrame> frames_;
  std::vector<Stack> stacks_;
  std::map<CodeFrame, uint32_t> frame_numbers_;
  std::unordered_map<uint64_t, StackId> known_;  ///< by the stack below and the frame
};

}  // namespace headroom::profiler
