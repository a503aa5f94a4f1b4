#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
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

/// Parameters of a model's operations in pinned host memory, packed per operation in the GPU's layout. Each
/// pass copies its parameters from there directly, without converting them.
class PinnedWeights {
 public:
  struct Packed {
    const std::byte* values = nullptr;
    int64_t bytes = 0;
    int64_t second = 0;  ///< offset of the second list of values (weight_lists())
  };
  /// A copy from pinned memory to the GPU.
  struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    int64_t bytes = 0;
  };

  /// Reads every parameter of the operations once. `progress` receives the share done, 0 to 1. Throws
  /// LimitExceeded if the host cannot pin that much. The GPU must outlive this object.
  PinnedWeights(gpu::Gpu& gpu, const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
                const HostWeights& source, const std::function<void(double)>& progress);

  const Packed& of(OpId op) const { return ops_[index(op)]; }
  /// The fewest copies that place the parameters of these operations contiguously at `to`, in this order.
  std::vector<Copy> copies(const std::vector<OpId>& operations, std::byte* to) const;
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
  std::shared_ptr<std::byte> memory_;
  std::vector<Packed> ops_;
};

/// A model's parameters by the dtype that they are packed in.
using PinnedByDtype = std::map<Dtype, PinnedWeights>;

}  // namespace headroom
