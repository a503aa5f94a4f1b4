#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace headroom::profiler {

/// A stack frame, of Python code or of native code.
struct CodeFrame {
  enum class Kind { code, native };
  Kind kind = Kind::code;
  std::string file;  ///< empty if unknown
  std::string function;
  int64_t line = 0;  ///< 0: not known
  friend auto operator<=>(const CodeFrame&, const CodeFrame&) = default;
};

/// Index of a stack in CodeStacks; 0 is the empty stack.
using StackId = uint32_t;

/// Index of a frame in CodeStacks.
struct FrameId {
  uint32_t number = 0;
};

/// Call stacks of allocations, stored as a tree: stacks share their common outer frames.
class CodeStacks {
 public:
  CodeStacks() : stacks_(1) {}

  /// Returns the stack `below` with `frame` on top.
  StackId push(StackId below, FrameId frame);
  StackId push(StackId below, const CodeFrame& frame) { return push(below, add(frame)); }
  FrameId add(const CodeFrame& frame);  ///< equal frames get equal ids

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

/// Module path of an allocation, outermost first. It holds the frames outside torch, starting at the
/// autoencoder ("vae.py:forward", "resnet.py:forward"). Without an autoencoder, it holds the innermost four.
/// The torch operation that they called ("conv") comes last. Empty if no stack was recorded.
std::vector<std::string> module_path(const CodeStacks& stacks, StackId stack);

/// The innermost line outside torch, such as "resnet.py:348 forward", or else the innermost frame.
std::string place_of(const CodeStacks& stacks, StackId stack);

/// All frames with their whole paths, innermost first: "/usr/lib/diffusers/vae.py:348 forward".
std::vector<std::string> lines_of(const CodeStacks& stacks, StackId stack);

}  // namespace headroom::profiler
