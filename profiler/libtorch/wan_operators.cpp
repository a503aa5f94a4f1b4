#include <ATen/ops/_upsample_nearest_exact2d.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <map>

#include "decoder/graph/errors.h"
#include "profiler/libtorch/eager_operators.h"
#include "profiler/libtorch/modules.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kKeptFrames = 2;
constexpr double kLeastLength = 1e-12;

/// AutoencoderKLWan, of Wan 2.1 and of 2.2, and AutoencoderKLQwenImage, one frame of the latent after
/// another. Values are N×C×T×H×W; between an attention's norm and its last projection those of each frame are
/// an item.
class WanOperators final : public EagerOperators {
 public:
  explicit WanOperators(const EagerWeights& weights) : weights_(weights) {}

  const at::Tensor* kept(const Op& op) const override {
    const auto found = kept_.find(op.name);
    return found == kept_.end() ? nullptr : &found->second;
  }

  void forget() override { kept_.clear(); }

  at::Tensor run(const EagerCall& call) override {
    switch (call.op.kind) {
      case OpKind::conv:
        return convolve(call);
      case OpKind::rms_norm:
        return normalise(call);
      case OpKind::attention:
        return attend(call);
      case OpKind::unfold_frames:
        return unfold(call);
      case OpKind::depth_to_space:
        return stage_of(call.op, EagerClass::wan) == EagerStage::after_frames ? unpatchified(call)
                                                                              : duplicated(call);
      case OpKind::add:
        return at::add(call.inputs[0], call.inputs[1]);
      default:
        throw InputError("--engine libtorch: " + call.op.name + " is not known there");
    }
  }

 private:
  at::Tensor convolve(const EagerCall& call) {
    const Op& op = call.op;
    if (op.convolution.parts > 1) return part_of_projection(call);
    if (op.convolution.over_frames) return causal(call);
    if (op.factor.y > 1) return over_upsampling(op, call.inputs[0]);
    return out_of_attention(call);
  }

  static bool is_time_conv(const Op& op) { return op.name.ends_with(".time_conv"); }

  at::Tensor causal(const EagerCall& call) {
    const Op& op = call.op;
    const at::Tensor& x = call.inputs[0];
    const at::Tensor& kernel = weights_[op.name + ".weight"];
    if (kernel.size(2) == 1) return over_padded(op, x, {});
    if (is_time_conv(op) && call.chunk == 0) return {};
    at::Tensor kept =
        x.narrow(2, std::max<int64_t>(0, x.size(2) - kKeptFrames), std::min(x.size(2), kKeptFrames)).clone();
    const at::Tensor before = kept_[op.name];
    if (kept.size(2) < kKeptFrames && before.defined())
      kept = at::cat({before.narrow(2, before.size(2) - 1, 1), kept}, 2);
    else if (kept.size(2) < kKeptFrames && is_time_conv(op))
      kept = at::cat({at::zeros_like(kept), kept}, 2);
    at::Tensor made = over_padded(op, x, before);
    kept_[op.name] = std::move(kept);
    return made;
  }

  /// Behind the frames before, and zeros in front of those and around.
  at::Tensor over_padded(const Op& op, at::Tensor x, const at::Tensor& before) {
    const at::Tensor& kernel = weights_[op.name + ".weight"];
    int64_t in_front = kernel.size(2) - 1;
    if (before.defined()) {
      x = at::cat({before, x}, 2);
      in_front -= before.size(2);
    }
    const int64_t rows = op.kernel.y / 2, columns = op.kernel.x / 2;
    x = at::pad(x, {columns, columns, rows, rows, in_front, 0});
    return at::conv3d(x, kernel, weights_.find(op.name + ".bias"));
  }

  /// Frames as items.
  static at::Tensor by_frame(const at::Tensor& x) {
    return x.permute({0, 2, 1, 3, 4}).reshape({x.size(0) * x.size(2), x.size(1), x.size(3), x.size(4)});
  }
  static at::Tensor with_frames(const at::Tensor& x, int64_t frames) {
    return x.view({x.size(0) / frames, frames, x.size(1), x.size(2), x.size(3)}).permute({0, 2, 1, 3, 4});
  }

  at::Tensor over_upsampling(const Op& op, const at::Tensor& input) {
    at::Tensor x = by_frame(input);
    const std::vector<double> factors{2, 2};
    x = at::_upsample_nearest_exact2d(x.to(at::kFloat), at::OptionalIntArrayRef(),
                                      c10::ArrayRef<double>(factors))
            .to(x.scalar_type());
    x = convolution(weights_, op, x);
    return with_frames(x, input.size(2));
  }

  at::Tensor unfold(const EagerCall& call) {
    if (call.chunk == 0) return call.inputs[0];
    at::Tensor x = std::move(call.inputs[1]);
    const int64_t items = x.size(0), channels = x.size(1) / 2, frames = x.size(2), rows = x.size(3),
                  columns = x.size(4);
    x = x.reshape({items, 2, channels, frames, rows, columns});
    x = at::stack({x.select(1, 0), x.select(1, 1)}, 3);
    return x.reshape({items, channels, 2 * frames, rows, columns});
  }

  /// The shortcut around a block: repeated channels that become frames and pixels. Of the first frame of the
  /// latent the last frame alone is seen, and all of them are there.
  static at::Tensor duplicated(const EagerCall& call) {
    const int64_t frames = call.op.frames_in_depth, side = call.op.factor.y;
    const int64_t channels = call.graph.tensor(call.op.output).channels;
    at::Tensor x = call.inputs[0];
    const int64_t items = x.size(0), t = x.size(2), rows = x.size(3), columns = x.size(4);
    x = x.repeat_interleave(channels * frames * side * side / x.size(1), 1);
    x = x.view({items, channels, frames, side, side, t, rows, columns});
    x = x.permute({0, 1, 5, 2, 6, 3, 7, 4}).contiguous();
    x = x.view({items, channels, t * frames, rows * side, columns * side});
    return call.chunk == 0 ? x.narrow(2, frames - 1, x.size(2) - (frames - 1)) : x;
  }

  /// Patches become pixels, in all frames at once.
  static at::Tensor unpatchified(const EagerCall& call) {
    const int64_t side = call.op.factor.y;
    at::Tensor x = call.inputs[0];
    const int64_t items = x.size(0), channels = x.size(1) / (side * side), t = x.size(2), rows = x.size(3),
                  columns = x.size(4);
    x = x.view({items, channels, side, side, t, rows, columns});
    x = x.permute({0, 1, 4, 5, 3, 6, 2}).contiguous();
    return x.view({items, channels, t, rows * side, columns * side});
  }

  at::Tensor normalise(const EagerCall& call) {
    const Op& op = call.op;
    const at::Tensor& gamma = weights_[op.name + ".gamma"];
    at::Tensor x = std::move(call.inputs[0]);
    if (gamma.dim() == 3) x = by_frame(x);
    x = normed(x, gamma);
    return activated(std::move(x), op.activation);
  }

  static at::Tensor normed(const at::Tensor& x, const at::Tensor& gamma) {
    const at::Tensor normalised = of_unit_length(x).to(x.scalar_type());
    at::Tensor made = at::mul(normalised, std::sqrt(double(x.size(1))));
    made = at::mul(made, gamma);
    return at::add(made, 0.0);
  }

  static at::Tensor of_unit_length(const at::Tensor& x) {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor length = wide.norm(2, {1}, true).clamp_min_(kLeastLength).expand_as(wide);
    return at::div(wide, length);
  }

  /// The first one makes queries, keys and values at once.
  at::Tensor part_of_projection(const EagerCall& call) {
    const ConvolutionTraits& traits = call.op.convolution;
    if (traits.part == 0) {
      const at::Tensor& x = call.inputs[0];
      const std::vector<int64_t> stride{1, 1}, padding{0, 0};
      at::Tensor qkv = at::conv2d(x, weights_[traits.part_of + ".weight"],
                                  weights_.find(traits.part_of + ".bias"), stride, padding);
      qkv = qkv.reshape({x.size(0), 1, 3 * x.size(1), -1});
      qkv = qkv.permute({0, 1, 3, 2}).contiguous();
      parts_ = qkv.chunk(3, -1);
    }
    at::Tensor part = std::move(parts_[static_cast<size_t>(traits.part)]);
    return part;
  }

  at::Tensor attend(const EagerCall& call) {
    return at::scaled_dot_product_attention(call.inputs[0], call.inputs[1], call.inputs[2]);
  }

  /// Its rows and columns are those of what is added to it.
  at::Tensor out_of_attention(const EagerCall& call) {
    const Op& add = call.graph.op(call.graph.readers(call.op.output).front());
    const at::Tensor& residual = call.held[index(add.inputs[1])];
    at::Tensor x = call.inputs[0].squeeze(1).permute({0, 2, 1});
    x = x.reshape({x.size(0), x.size(1), residual.size(3), residual.size(4)});
    x = convolution(weights_, call.op, x);
    return with_frames(x, residual.size(2));
  }

  const EagerWeights& weights_;
  std::map<std::string, at::Tensor> kept_;
  std::vector<at::Tensor> parts_;
};

}  // namespace

std::unique_ptr<EagerOperators> wan_operators(const EagerWeights& weights) {
  return std::make_unique<WanOperators>(weights);
}

}  // namespace headroom::profiler
