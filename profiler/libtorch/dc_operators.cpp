#include <ATen/ops/add.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/movedim.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/sum.h>

#include "decoder/graph/errors.h"
#include "decoder/graph/parameters.h"
#include "profiler/libtorch/eager_operators.h"
#include "profiler/libtorch/modules.h"

namespace headroom::profiler {
namespace {

/// AutoencoderDC.
class DcOperators final : public EagerOperators {
 public:
  explicit DcOperators(const EagerWeights& weights) : weights_(weights) {}

  at::Tensor run(const EagerCall& call) override {
    switch (call.op.kind) {
      case OpKind::key_value_sums:
        return {};
      case OpKind::conv:
        return convolve(call);
      case OpKind::rms_norm:
        return normalise(call);
      case OpKind::linear_attention:
        return attend(call);
      case OpKind::gate:
        return gate(call);
      case OpKind::depth_to_space:
        return shuffle(call);
      case OpKind::add:
        return at::add(call.inputs[0], call.inputs[1]);
      default:
        throw InputError("--engine libtorch: " + call.op.name + " is not known there");
    }
  }

  const at::Tensor* kept(const Op& op) const override {
    return op.name == "decoder.conv_in.sum" && repeated_latent_.defined() ? &repeated_latent_ : nullptr;
  }

  void forget() override { repeated_latent_.reset(); }

 private:
  at::Tensor convolve(const EagerCall& call) {
    const Op& op = call.op;
    const ConvolutionTraits& traits = op.convolution;
    const at::Tensor& x = call.inputs[0];
    if (!traits.stacked.empty()) return stacked(call);
    at::Tensor made;
    if (op.name.ends_with(".to_out"))
      made = linear(weights_, op.name, x.movedim(1, -1)).movedim(-1, 1);
    else if (traits.shortcut)
      return with_shortcut(call);
    else if (op.factor.y > 1)
      made = over_upsampling(op, x);
    else
      made = convolution(weights_, op, x);
    if (!traits.batch_norm.empty()) made = batch_normed(op, made);
    return activated(std::move(made), traits.activation);
  }

  at::Tensor over_upsampling(const Op& op, const at::Tensor& input) {
    at::Tensor x = upsampled(input);
    x = convolution(weights_, op, x);
    return x;
  }

  /// Each channel of the input repeated until there are as many as the convolution, or what is shuffled of
  /// it, has.
  static at::Tensor repeated(const at::Tensor& x, int64_t channels) {
    const int64_t repeats = channels / x.size(1);
    return x.repeat_interleave(repeats, 1, x.size(1) * repeats);
  }

  at::Tensor with_shortcut(const EagerCall& call) {
    const Op& op = call.op;
    const at::Tensor& input = call.inputs[0];
    const int64_t channels = call.graph.tensor(op.output).channels;
    if (op.factor.y > 1) {
      const at::Tensor x = over_upsampling(op, input);
      at::Tensor y = repeated(input, 4 * channels);
      y = at::pixel_shuffle(y, 2);
      return at::add(x, y);
    }
    // Pixels are made of the result and of the shortcut, and added behind that: shuffle().
    return convolution(weights_, op, input);
  }

  at::Tensor shuffle(const EagerCall& call) {
    if (call.op.inputs[0] == call.graph.latent())
      return repeated_latent_ = repeated(call.inputs[0], call.graph.tensor(call.op.output).channels);
    at::Tensor x = std::move(call.inputs[0]);
    const int64_t channels = x.size(1);
    x = at::pixel_shuffle(x, 2);
    const Op& made = *call.graph.producer(call.op.inputs[0]);
    if (!made.convolution.shortcut) return x;
    at::Tensor y = repeated(call.held[index(made.inputs[0])], channels);
    y = at::pixel_shuffle(y, 2);
    return at::add(x, y);
  }

  /// Queries, keys and values, each by its own linear layer.
  at::Tensor stacked(const EagerCall& call) {
    const at::Tensor x = call.inputs[0].movedim(1, -1);
    std::vector<at::Tensor> parts;
    for (const std::string& module : call.op.convolution.stacked)
      parts.push_back(linear(weights_, module, x));
    return at::cat(parts, 3).movedim(-1, 1);
  }

  at::Tensor batch_normed(const Op& op, const at::Tensor& x) {
    const std::string& norm = op.convolution.batch_norm;
    return at::batch_norm(x, weights_[norm + ".weight"], weights_[norm + ".bias"],
                          weights_[norm + ".running_mean"], weights_[norm + ".running_var"], false, 0.1,
                          op.epsilon, true);
  }

  at::Tensor normalise(const EagerCall& call) {
    const Op& op = call.op;
    const at::Tensor& weight = weights_[op.name + ".weight"];
    at::Tensor x = call.inputs[0].movedim(1, -1);  // which the caller holds until all of this is done
    const at::Tensor variance = x.to(at::kFloat).pow(2).mean({-1}, true);
    x = at::mul(x, at::rsqrt(at::add(variance, op.epsilon)));
    if (weight.scalar_type() != at::kFloat) x = x.to(weight.scalar_type());
    x = at::mul(x, weight);
    x = at::add(x, weights_[op.name + ".bias"]);
    call.inputs[0].reset();
    return activated(x.movedim(-1, 1), op.activation);
  }

  at::Tensor gate(const EagerCall& call) {
    const std::vector<at::Tensor> halves = call.inputs[0].chunk(2, 1);
    return at::mul(halves[0], at::silu(halves[1]));
  }

  /// Few positions are attended to one by one.
  at::Tensor attend(const EagerCall& call) {
    const at::Tensor& first = call.inputs[0];
    const int64_t items = first.size(0), rows = first.size(2), columns = first.size(3);
    const int64_t width = head_channels(call.graph, call.op);
    const bool by_sums = rows * columns > width;
    at::Tensor x = at::cat(std::vector<at::Tensor>(call.inputs.begin(), call.inputs.end() - 1), 1);
    if (by_sums) x = x.to(at::kFloat);
    x = x.reshape({items, -1, 3 * width, rows * columns});
    const std::vector<at::Tensor> parts = x.chunk(3, 2);
    const at::Tensor query = at::relu(parts[0]), key = at::relu(parts[1]);
    if (by_sums)
      x = by_sums_of(query, key, parts[2], call.op.epsilon).to(first.scalar_type());
    else
      x = by_scores(query, key, parts[2], call.op.epsilon);
    return x.reshape({items, -1, rows, columns});
  }

  static at::Tensor by_sums_of(const at::Tensor& query, const at::Tensor& key, at::Tensor value,
                               double epsilon) {
    value = at::pad(value, {0, 0, 0, 1}, "constant", 1);
    const at::Tensor scores = at::matmul(value, key.transpose(-1, -2));
    at::Tensor x = at::matmul(scores, query);
    x = x.to(at::kFloat);
    const int64_t channels = x.size(2) - 1;
    return at::div(x.narrow(2, 0, channels), at::add(x.narrow(2, channels, 1), epsilon));
  }

  static at::Tensor by_scores(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                              double epsilon) {
    at::Tensor scores = at::matmul(key.transpose(-1, -2), query);
    scores = scores.to(at::kFloat);
    scores = at::div(scores, at::add(scores.sum({2}, true), epsilon));
    return at::matmul(value, scores.to(value.scalar_type()));
  }

  const EagerWeights& weights_;
  at::Tensor repeated_latent_;  ///< a variable of the decoder's own, which is there until it is done
};

}  // namespace

std::unique_ptr<EagerOperators> dc_operators(const EagerWeights& weights) {
  return std::make_unique<DcOperators>(weights);
}

}  // namespace headroom::profiler
