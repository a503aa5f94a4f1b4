#include "profiler/history/code_stacks.h"

#include <algorithm>
#include <array>

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

namespace {

constexpr size_t kFramesWithoutAutoencoder = 4;

/// The frames of a stack, innermost first.
std::vector<const CodeFrame*> frames_of(const CodeStacks& stacks, StackId stack) {
  std::vector<const CodeFrame*> frames;
  for (; stack != 0; stack = stacks.below(stack)) frames.push_back(&stacks.top(stack));
  return frames;
}

std::string base_name(const std::string& file) {
  const size_t slash = file.find_last_of("/\\");
  return slash == std::string::npos ? file : file.substr(slash + 1);
}

bool is_of_torch(const CodeFrame& frame) {
  return frame.file.starts_with("torch/") || frame.file.find("/torch/") != std::string::npos;
}

/// True for a wrapper frame between two frames of a model, such as contextlib.py.
bool is_wrapper(const CodeFrame& frame) {
  constexpr std::array kFiles{"contextlib.py", "functools.py", "hooks.py", "accelerate_utils.py",
                              "threading.py"};
  const std::string file = base_name(frame.file);
  return std::find(kFiles.begin(), kFiles.end(), file) != kFiles.end();
}

/// True for a frame of the model's code or of its caller.
bool is_own(const CodeFrame& frame) {
  return frame.kind == CodeFrame::Kind::code && !frame.file.starts_with("<") && !is_of_torch(frame) &&
         !is_wrapper(frame);
}

std::string text_of(const CodeFrame& frame) {
  if (frame.file.empty()) return frame.function;
  return base_name(frame.file) + ":" + frame.function;
}

/// "conv" for torch/nn/modules/conv.py, "interpolate" for torch/nn/functional.py. Empty for torch's wrappers.
std::string operation_of(const CodeFrame& frame) {
  if (frame.kind != CodeFrame::Kind::code || !is_of_torch(frame)) return "";
  std::string file = base_name(frame.file);
  if (file == "functional.py") return frame.function;
  const bool module = frame.file.find("nn/modules/") != std::string::npos;
  if (!module || file == "module.py" || file == "container.py") return "";
  return file.substr(0, file.size() - std::min<size_t>(file.size(), 3));
}

bool is_of_autoencoder(const CodeFrame& frame) {
  return frame.file.find("autoencoder") != std::string::npos;
}

}  // namespace

std::vector<std::string> module_path(const CodeStacks& stacks, StackId stack) {
  const std::vector<const CodeFrame*> frames = frames_of(stacks, stack);
  std::vector<std::string> own;
  size_t from_autoencoder = 0;  // number of frames in `own` up to the outermost autoencoder frame
  std::string operation, native;
  for (const CodeFrame* frame : frames) {
    if (frame->kind == CodeFrame::Kind::native && native.empty()) native = frame->function;
    if (own.empty() && operation.empty()) operation = operation_of(*frame);
    if (!is_own(*frame)) continue;
    own.push_back(text_of(*frame));
    if (is_of_autoencoder(*frame)) from_autoencoder = own.size();
  }
  const size_t kept = from_autoencoder > 0 ? from_autoencoder : kFramesWithoutAutoencoder;
  if (own.size() > kept) own.resize(kept);
  std::reverse(own.begin(), own.end());
  if (!operation.empty()) own.push_back(operation);
  if (own.empty() && !native.empty()) own.push_back(native);
  return own;
}

std::vector<std::string> lines_of(const CodeStacks& stacks, StackId stack) {
  std::vector<std::string> lines;
  for (const CodeFrame* frame : frames_of(stacks, stack)) {
    std::string line = frame->file;
    if (frame->line != 0) line += ":" + std::to_string(frame->line);
    lines.push_back(line.empty() ? frame->function : line + " " + frame->function);
  }
  return lines;
}

std::string place_of(const CodeStacks& stacks, StackId stack) {
  const std::vector<const CodeFrame*> frames = frames_of(stacks, stack);
  if (frames.empty()) return "";
  const auto own =
      std::find_if(frames.begin(), frames.end(), [](const CodeFrame* frame) { return is_own(*frame); });
  const CodeFrame& frame = own == frames.end() ? *frames.front() : **own;
  if (frame.line == 0) return text_of(frame);
  return base_name(frame.file) + ":" + std::to_string(frame.line) + " " + frame.function;
}

}  // namespace headroom::profiler
