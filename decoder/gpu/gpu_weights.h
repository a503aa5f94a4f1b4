#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/gpu/pinned_staging.h"
#include "decoder/lowering/memory.h"

namespace headroom {

/// Parameters of one operation in the host's memory, in fp32; empty where it has none.
struct HostOpWeights {
  std::vector<float> kernel;  ///< as gpu::parameter_bytes() has it
  std::vector<float> bias, scale;
};
using HostWeights = std::function<std::shared_ptr<const HostOpWeights>(const Op& op)>;

/// Parameters of one operation in a GPU's memory, as decoder/gpu/calls/calls.h has them; null where it has
/// none.
struct GpuOpWeights {
  const void* kernel = nullptr;
  const void* bias = nullptr;        ///< of a convolution, in the dtype of the tiles
  const float* scale = nullptr;      ///< of a norm
  const float* norm_bias = nullptr;  ///< of a norm
};

/// Parameters of some operations in one piece of a GPU's memory, as large and laid out as
/// decoder/lowering/memory.h says.
class GpuWeights {
 public:
  /// For a dry run: there are no values.
  GpuWeights(const Graph& graph, std::shared_ptr<void> memory)
      : memory_(std::move(memory)), ops_(graph.ops().size()) {}
  /// Reads every parameter once. `progress` is told the share done, 0 to 1.
  GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype, const HostWeights& source,
             std::shared_ptr<void> memory, gpu::Gpu& gpu, PinnedStaging& staging,
             const std::function<void(double)>& progress = {});

  const GpuOpWeights& of(OpId op) const { return ops_[index(op)]; }

 private:
  std::shared_ptr<void> memory_;
  std::vector<GpuOpWeights> ops_;
};

}  // namespace headroom
