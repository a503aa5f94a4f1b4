#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/gpu/transfers/pinned_staging.h"

namespace headroom {

/// Parameters of one operation in GPU memory, in the layout of decoder/gpu/calls/calls.h. Null: the operation
/// has no such parameter.
struct GpuOpWeights {
  const void* kernel = nullptr;
  const void* bias = nullptr;        ///< of a convolution, in the dtype of the tiles
  const float* scale = nullptr;      ///< of a norm
  const float* norm_bias = nullptr;  ///< of a norm
};

/// Offset of an operation's bias, or of a norm's bias, from its kernel or scale.
int64_t second_offset(const Graph& graph, const Op& op, Dtype dtype);

/// Parameters of some operations in one GPU allocation. decoder/schedule/memory.h defines its size and
/// layout.
class GpuWeights {
 public:
  /// Source of the values, and the staging memory for their copies.
  struct Loading {
    const HostWeights& source;
    PinnedStaging& staging;
    std::function<void(double)> progress{};  ///< receives the share done, 0 to 1
  };
  /// Reads every parameter of the operations once and copies it to `memory`.
  GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
             std::shared_ptr<void> memory, const Loading& loading);
  /// Refers to parameters in `memory`, operation after operation. The caller puts them there.
  GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
             std::shared_ptr<void> memory);

  const GpuOpWeights& of(OpId op) const { return ops_[index(op)]; }

 private:
  std::shared_ptr<void> memory_;
  std::vector<GpuOpWeights> ops_;
};

}  // namespace headroom
