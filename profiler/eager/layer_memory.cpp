#include "profiler/eager/layer_memory.h"

#include <algorithm>
#include <string>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom::profiler {
namespace {

/// Channel block size of oneDNN's layout, at least.
constexpr int64_t kBlockedChannels = 8;
/// Input size in values up to which LibTorch convolves without oneDNN, if the kernel is at most 3 wide. For
/// clips LibTorch counts the values of one column of positions only.
constexpr int64_t kMostForNative = 20480;
constexpr int64_t kWidestForNative = 3;
/// Frames that diffusers' causal convolutions keep (its CACHE_T).
constexpr int64_t kCachedFrames = 2;

bool ends_with(const std::string& text, const char* end) {
  const std::string tail = end;
  return text.size() >= tail.size() && text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool is_time_conv(const Op& op) {
  return ends_with(op.name, ".time_conv");
}

int64_t kernel_frames(const Op& op) {
  return std::max(op.kernel.t, op.convolution.stored_frames);
}

/// Sizes of one operation's inputs and results, and the formulas over them.
class Layer {
 public:
  Layer(const Graph& graph, const Op& op, const EagerSetting& setting, const EagerPlace& place)
      : graph_(graph), op_(op), setting_(setting), place_(place) {
    in_ = bytes(channels(op.inputs[0]), place.frames_in, place.in.y, place.in.x);
    out_ = bytes(channels(op.output), place.frames_out, place.out.y, place.out.x);
  }

  LayerBytes of() const {
    switch (op_.kind) {
      case OpKind::conv:
        return convolution();
      case OpKind::norm:
        return {out_, op_.activation == Activation::none ? 0 : after(out_)};
      case OpKind::rms_norm:
        return {out_, std::max(rms_norm(), op_.activation == Activation::none ? 0 : after(out_))};
      case OpKind::add:
        return {out_, setting_.of == EagerNetwork::kl ? out_ : 0};  // the sum, then its division by 1
      case OpKind::statistics:
      case OpKind::key_value_sums:
        return {};  // computed by the operation that reads them
      case OpKind::linear_attention:
        return {out_, linear_attention()};
      case OpKind::depth_to_space:
        return setting_.of == EagerNetwork::wan ? wan_pixels() : copies();
      case OpKind::unfold_frames:
        return {place_.chunk == 0 ? 0 : out_, 0};  // the first frame passes through unchanged
      default:
        return copies();
    }
  }

 private:
  LayerBytes copies() const { return {out_, operation(op_.kind).eager_copies * out_}; }
  int64_t channels(TensorId id) const { return graph_.tensor(id).channels; }
  int64_t bytes(int64_t channels, int64_t frames, int64_t rows, int64_t columns) const {
    return setting_.items * channels * frames * rows * columns * setting_.element_bytes;
  }
  /// Workspace for an intermediate result, less the input's memory if no variable holds the input any more.
  int64_t after(int64_t result) const {
    return place_.input_goes ? std::max<int64_t>(0, result - in_) : result;
  }
  /// Size ratio of fp32 copies to 16-bit values; 0 for fp32.
  int64_t widened() const { return setting_.element_bytes < 4 ? 4 / setting_.element_bytes : 0; }

  /// Bytes of the kernel, without the bias. The module of a folded attention that diffusers runs here: the
  /// queries' projection, with keys and values if it is one module, or the output projection.
  int64_t kernel() const {
    const KernelProduct& product = op_.convolution.product;
    const ModulePart& module = product.transposes_second ? product.first : product.second;
    int64_t elements = 0;
    for (const Parameter& parameter : parameters_of(graph_, op_)) {
      const bool own = product.empty() || parameter.name == module.module + ".weight";
      if (own && !ends_with(parameter.name, ".bias")) elements += elements_of(parameter);
    }
    return elements * setting_.element_bytes;
  }

  /// True if the operation replaces three projections of diffusers, to queries, keys and values.
  bool projects_thrice() const { return op_.convolution.product.transposes_second; }

  /// Library workspace of a 2D convolution.
  int64_t library(int64_t input, int64_t output) const {
    if (place_.frames_in == 1 && is_native(input / setting_.element_bytes)) return columns(1);
    return in_blocks(input, output);
  }

  /// oneDNN uses a blocked layout. It copies input and kernel to that layout. It copies the result back after
  /// the input's copy is freed.
  int64_t in_blocks(int64_t input, int64_t output) const {
    if (!device_record(setting_.device).is_host) return 0;
    if (place_.channels_last) return 2 * kernel();
    const int64_t outputs = channels(op_.output);
    const int64_t blocked = output / outputs * (ceil_divide(outputs, kBlockedChannels) * kBlockedChannels);
    return std::max(input + kernel() + blocked - output, blocked);
  }

  /// True if LibTorch convolves an input of this many values by im2col and a matrix product.
  bool is_native(int64_t values) const {
    return device_record(setting_.device).is_host && setting_.element_bytes == 4 && setting_.items == 1 &&
           op_.groups <= 1 && std::max(op_.kernel.x, op_.kernel.y) <= kWidestForNative &&
           values <= kMostForNative;
  }
  /// Workspace of im2col: a copy of all values that the kernel reads at each position. A kernel with one tap
  /// reads the input itself.
  int64_t columns(int64_t frames) const {
    const int64_t taps = frames * op_.kernel.y * op_.kernel.x;
    return taps == 1 ? 0
                     : bytes(channels(op_.inputs[0]) * taps, place_.frames_out, place_.out.y, place_.out.x);
  }

  LayerBytes convolution() const {
    if (setting_.of == EagerNetwork::kl) return kl_convolution();
    if (setting_.of == EagerNetwork::dc) return dc_convolution();
    return op_.convolution.over_frames ? causal_convolution() : wan_convolution();
  }

  int64_t upsampled() const { return in_ * op_.factor.y * op_.factor.x; }
  bool upsamples() const { return op_.factor.y * op_.factor.x > 1; }

  LayerBytes kl_convolution() const {
    // Linear layers need no workspace. All results of the projections are alive until the attention.
    if (projects_thrice()) return {3 * out_, 0};
    if (ends_with(op_.name, ".to_out.0")) return {out_, 0};
    if (!upsamples()) return {out_, library(in_, out_)};
    return {out_, upsampled() + library(upsampled(), out_)};
  }

  LayerBytes dc_convolution() const {
    const int64_t read = upsamples() ? upsampled() : 0;
    int64_t workspace = read + library(read > 0 ? read : in_, out_);
    if (op_.convolution.activation != Activation::none) workspace = std::max(workspace, out_);
    if (op_.convolution.shortcut) workspace = std::max(workspace, 2 * out_);  // repeat, shuffle, add
    if (!op_.convolution.stacked.empty()) workspace = out_;  // q, k and v, then their concatenation
    return {out_, workspace};
  }

  /// Prepends the kept frames and then pads. Both are copies.
  LayerBytes causal_convolution() const {
    if (is_time_conv(op_) && place_.chunk == 0) return {};
    const int64_t frames = kernel_frames(op_);
    const auto of_frames = [&](int64_t count) { return in_ / place_.frames_in * count; };
    const int64_t before = cached_frames(op_, setting_, place_.chunk - 1);
    const int64_t cached = cached_frames(op_, setting_, place_.chunk);
    const int64_t padded = bytes(channels(op_.inputs[0]), place_.frames_in + frames - 1,
                                 place_.in.y + op_.kernel.y - 1, place_.in.x + op_.kernel.x - 1);
    const int64_t joined = before > 0 ? of_frames(place_.frames_in + before) : 0;
    const int64_t values = setting_.items * channels(op_.inputs[0]) * (place_.frames_in + frames - 1) *
                           (place_.in.y + op_.kernel.y - 1);
    const int64_t beside = is_native(values) ? columns(frames) : in_blocks(padded, out_);
    const int64_t most = std::max(joined + padded, padded + out_ + beside);
    return {out_, most - out_ + of_frames(cached), of_frames(cached)};
  }

  /// 2D convolution, frame by frame. Upsampling several frames copies its input and its result.
  LayerBytes wan_convolution() const {
    if (projects_thrice()) return {3 * out_, std::max(3 * out_, library(in_, 3 * out_))};
    if (!upsamples()) return {out_, library(in_, out_)};
    const int64_t copies = place_.frames_in > 1 ? upsampled() + in_ : 0;
    const int64_t wide = upsampled() * widened();  // fp32 copy of 16-bit values
    return {out_,
            std::max(upsampled() + std::max(copies, wide) - out_, upsampled() + library(upsampled(), out_))};
  }

  /// Repeats channels, then rearranges them to pixels. The first frame is expanded to as many frames as later
  /// ones, and only its last is used. Unpatching does not repeat channels.
  LayerBytes wan_pixels() const {
    const int64_t made =
        bytes(channels(op_.output), place_.frames_in * op_.frames_in_depth, place_.out.y, place_.out.x);
    return {made, stage_of(op_, setting_.of) == EagerStage::after_frames ? 0 : made};
  }

  int64_t rms_norm() const {
    const int64_t one_channel =
        bytes(1, place_.frames_out, place_.out.y, place_.out.x) * std::max<int64_t>(1, widened());
    if (setting_.of == EagerNetwork::dc) return std::max(out_, 2 * widened() * out_) + one_channel;
    return std::max(2 * out_, 2 * widened() * out_) + (widened() > 0 ? one_channel : 0);
  }

  /// Concatenated queries, keys and values of all scales, once more as heads; then relu of two of them,
  /// padding and products.
  int64_t linear_attention() const {
    return in_ * static_cast<int64_t>(op_.inputs.size() - 1) * 8 / 3 - out_;
  }

  const Graph& graph_;
  const Op& op_;
  const EagerSetting& setting_;
  const EagerPlace& place_;
  int64_t in_ = 0, out_ = 0;
};

}  // namespace

EagerStage stage_of(const Op& op, EagerNetwork of) {
  if (of != EagerNetwork::wan) return EagerStage::frame;
  if (op.name == "post_quant_conv") return EagerStage::before_frames;
  return op.name == "unpatchify" ? EagerStage::after_frames : EagerStage::frame;
}

TensorId made_of_frame(const Graph& graph, EagerNetwork of) {
  TensorId made = graph.output();
  while (stage_of(*graph.producer(made), of) == EagerStage::after_frames)
    made = graph.producer(made)->inputs[0];
  return made;
}

int64_t cached_frames(const Op& op, const EagerSetting& setting, int64_t chunk) {
  const bool caches = setting.of == EagerNetwork::wan && op.kind == OpKind::conv &&
                      op.convolution.over_frames && kernel_frames(op) > 1;
  if (!caches || chunk < 0) return 0;
  if (is_time_conv(op)) return chunk == 0 ? 0 : kCachedFrames;
  return std::min(chunk + 1, kCachedFrames);
}

LayerBytes layer_bytes(const Graph& graph, const Op& op, const EagerSetting& setting,
                       const EagerPlace& place) {
  return Layer(graph, op, setting, place).of();
}

}  // namespace headroom::profiler
