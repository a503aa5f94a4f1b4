#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "decoder/graph/graph.h"
#include "profiler/libtorch/eager_weights.h"

// Modules of PyTorch that several classes are made of.
namespace headroom::profiler {

/// `none` gives back what it was given.
at::Tensor activated(at::Tensor x, Activation activation);

/// Conv2d of the operation's own parameters, with padding that keeps the extent.
at::Tensor convolution(const EagerWeights& weights, const Op& op, const at::Tensor& x);
/// Linear, with a kernel that may be stored with two axes of extent 1.
at::Tensor linear(const EagerWeights& weights, const std::string& module, const at::Tensor& x);
/// Twice as many rows and columns, by nearest values.
at::Tensor upsampled(const at::Tensor& x);

}  // namespace headroom::profiler
