#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Parameters of one operation in host memory, in fp32 and in the GPU's layout. Empty: the operation has no
/// such parameter.
struct HostOpWeights {
  std::vector<float> kernel;  ///< layout of gpu::parameter_bytes()
  std::vector<float> bias, scale;
};
/// One contiguous list of parameters on a GPU.
struct WeightList {
  const std::vector<float>* values = nullptr;
  Dtype dtype = Dtype::fp32;
  /// Bytes on the GPU, including the alignment padding.
  int64_t bytes() const;
};
/// An operation's parameters in their order on a GPU. Kernel and bias of a convolution have the tiles' dtype,
/// scale and bias of a norm fp32. Empty if the operation has no parameters.
std::vector<WeightList> weight_lists(const Op& op, const HostOpWeights& weights, Dtype dtype);

using HostWeights = std::function<std::shared_ptr<const HostOpWeights>(const Op& op)>;

/// Reads and folds an operation's parameters at every call. `graph` and `source` must outlive the result.
HostWeights host_weights(const Graph& graph, const ParameterSource& source);

/// Reads the parameters of all operations once and holds them in memory. `progress` receives the share done,
/// 0 to 1.
HostWeights held(const Graph& graph, const HostWeights& source, const std::function<void(double)>& progress);

/// Parameters for a dry run: all lists are empty.
HostWeights no_host_weights();

}  // namespace headroom
