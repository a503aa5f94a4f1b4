#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/host_weights.h"

namespace headroom {

/// All parameters of a model in pinned host memory, each operation's packed as a GPU has them. A pass copies
/// its own from there, without work for the host.
class PinnedWeights {
 public:
  struct Packed {
    const std::byte* values = nullptr;
    int64_t bytes = 0;
    int64_t second = 0;  ///< offset of the second list of values (weight_lists())
  };
  /// Bytes from pinned memory to a place on the GPU.
  struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    int64_t bytes = 0;
  };

  /// Reads every parameter once. `progress` gets the share that is done, 0 to 1. Throws LimitExceeded where
  /// the host does not pin that much. The GPU must outlive this.
  PinnedWeights(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const HostWeights& source,
                const std::function<void(double)>& progress);

  const Packed& of(OpId op) const { return ops_[index(op)]; }
  /// The fewest copies that bring parameters of these operations to `to`, one behind the other.
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
