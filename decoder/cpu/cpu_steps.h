#pragma once

#include <map>
#include <memory>

#include "decoder/cpu/group_norm_statistics.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/linear_attention.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/interpreter/device.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Everything that the steps of a decode share on the CPU.
struct CpuSteps {
  const Graph& graph;
  const Sizes sizes;
  PlannedWeights& weights;
  LimitedPool& pool;
  std::map<TensorId, GroupStatistics> statistics{};
  std::map<TensorId, KeyValueSums> sums{};
  Device::CallShare on_share{};
  std::shared_ptr<float> attending{};  ///< the workspace of attention between its blocks of keys

  const OpWeights& weights_of(const Op& op) const { return weights.of(graph.tensor(op.output).producer); }
};

// One function for each kind of step. Tiles are fp32; kept tensors may be stored in 16 bits.
namespace cpu_steps {
#define X(kind) void kind(CpuSteps& steps, const StepCall& call);
HEADROOM_DEVICE_STEPS(X)
#undef X
}  // namespace cpu_steps

}  // namespace headroom
