#include <ATen/ops/add.h>
#include <ATen/ops/div.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "decoder/graph/errors.h"
#include "profiler/libtorch/eager_operators.h"
#include "profiler/libtorch/modules.h"

namespace headroom::profiler {
namespace {

const std::string kAttentionNorm = ".group_norm";

/// AutoencoderKL and those that are made of its blocks. Between its norm and its last projection an
/// attention's values are N×positions×C.
class KlOperators final : public EagerOperators {
 public:
  explicit KlOperators(const EagerWeights& weights) : weights_(weights) {}

  at::Tensor run(const EagerCall& call) override {
    switch (call.op.kind) {
      case OpKind::statistics:
        return {};
      case OpKind::conv:
        return convolve(call);
      case OpKind::norm:
        return normalise(call);
      case OpKind::attention:
        return attend(call);
      case OpKind::add:
        return add(call);
      default:
        throw InputError("--engine libtorch: " + call.op.name + " is not known there");
    }
  }

 private:
  at::Tensor convolve(const EagerCall& call) {
    const Op& op = call.op;
    at::Tensor x = call.inputs[0];
    for (const char* projection : {".to_q", ".to_k", ".to_v"}) {
      if (op.name.ends_with(projection)) return linear(weights_, op.name, x);
    }
    if (op.name.ends_with(".to_out.0")) return projected(call);
    if (op.factor.y > 1) x = upsampled(x);
    return convolution(weights_, op, x);
  }

  /// Back to rows and columns, which the tensor that is added behind it has.
  at::Tensor projected(const EagerCall& call) {
    const Op& add = call.graph.op(call.graph.readers(call.op.output).front());
    const at::Tensor& residual = call.held[index(add.inputs[1])];
    const at::Tensor x = linear(weights_, call.op.name, call.inputs[0]);
    return x.transpose(-1, -2).reshape(residual.sizes());
  }

  at::Tensor normalise(const EagerCall& call) {
    const Op& op = call.op;
    const Op& measured = *call.graph.producer(op.inputs[1]);
    const auto normed = [&](const at::Tensor& x) {
      return at::group_norm(x, measured.groups, weights_[op.name + ".weight"], weights_[op.name + ".bias"],
                            measured.epsilon);
    };
    at::Tensor x = std::move(call.inputs[0]);
    if (op.name.ends_with(kAttentionNorm))
      return normed(x.view({x.size(0), x.size(1), x.size(2) * x.size(3)})).transpose(1, 2);
    x = normed(x);
    return activated(std::move(x), op.activation);
  }

  at::Tensor attend(const EagerCall& call) {
    const auto as_head = [](const at::Tensor& x) {
      return x.view({x.size(0), -1, 1, x.size(2)}).transpose(1, 2);
    };
    const at::Tensor x = at::scaled_dot_product_attention(as_head(call.inputs[0]), as_head(call.inputs[1]),
                                                          as_head(call.inputs[2]));
    return x.transpose(1, 2).reshape({x.size(0), -1, x.size(3)});
  }

  at::Tensor add(const EagerCall& call) {
    at::Tensor x = at::add(call.inputs[0], call.inputs[1]);
    return at::div(x, 1.0);  // by output_scale_factor
  }

  const EagerWeights& weights_;
};

}  // namespace

std::unique_ptr<EagerOperators> kl_operators(const EagerWeights& weights) {
  return std::make_unique<KlOperators>(weights);
}

}  // namespace headroom::profiler
