#include "profiler/libtorch/modules.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <vector>

#include "decoder/graph/errors.h"

namespace headroom::profiler {

at::Tensor activated(at::Tensor x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::silu:
      return at::silu(x);
    case Activation::relu:
      return at::relu(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::mish:
      return at::mish(x);
    default:
      throw InputError("--engine libtorch: an activation of this decoder is not known there");
  }
}

at::Tensor convolution(const EagerWeights& weights, const Op& op, const at::Tensor& x) {
  const std::vector<int64_t> stride{1, 1}, padding{op.kernel.y / 2, op.kernel.x / 2};
  return at::conv2d(x, weights[op.name + ".weight"], weights.find(op.name + ".bias"), stride, padding, stride,
                    op.groups);
}

at::Tensor linear(const EagerWeights& weights, const std::string& module, const at::Tensor& x) {
  const at::Tensor& kernel = weights[module + ".weight"];
  return at::linear(x, kernel.view({kernel.size(0), kernel.size(1)}), weights.find(module + ".bias"));
}

at::Tensor upsampled(const at::Tensor& x) {
  const std::vector<double> factors{2, 2};
  return at::upsample_nearest2d(x, at::OptionalIntArrayRef(), c10::ArrayRef<double>(factors));
}

}  // namespace headroom::profiler
