#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_weights.h"

namespace headroom {

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
