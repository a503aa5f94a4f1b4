#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Parameters of one operation in the host's memory, in fp32, laid out as a GPU has them; empty where it has
/// none.
struct HostOpWeights {
  std::vector<float> kernel;  ///< as gpu::parameter_bytes() has it
  std::vector<float> bias, scale;
};
/// Values that lie together on a GPU.
struct WeightList {
  const std::vector<float>* values = nullptr;
  Dtype dtype = Dtype::fp32;
  /// That they take there, from one boundary to the next.
  int64_t bytes() const;
};
/// An operation's parameters on a GPU, one behind the other: kernel and bias of a convolution in the tiles'
/// dtype, scale and bias of a norm in fp32. No list where it has no parameters.
std::vector<WeightList> weight_lists(const Op& op, const HostOpWeights& weights, Dtype dtype);

using HostWeights = std::function<std::shared_ptr<const HostOpWeights>(const Op& op)>;

/// Reads and folds an operation's parameters whenever it is asked for them. Both must outlive what is
/// returned.
HostWeights host_weights(const Graph& graph, const ParameterSource& source);

/// The parameters of all operations, read once and held in memory. `progress` gets the share that is there, 0
/// to 1.
HostWeights held(const Graph& graph, const HostWeights& source, const std::function<void(double)>& progress);

/// For a dry run: no operation has any values.
HostWeights no_host_weights();

}  // namespace headroom
