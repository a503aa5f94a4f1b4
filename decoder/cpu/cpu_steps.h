#pragma once

#include <map>
#include <memory>

#include "decoder/cpu/attention.h"
#include "decoder/cpu/group_norm_statistics.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"
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

// These functions work on `items` batch items with all threads. A view has one block list for all items.

/// Copies a region that both hold. Either may be stored in 16 bits.
void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Rounds a tile to the values that storing it in this dtype and reading it back would give.
void round_tile(const MapView& tile, Dtype dtype, int64_t items);
/// Applies the activation to a region of a tile, in place.
void activate_region(const MapView& tile, Activation activation, const Region& region, int64_t items);
/// Fills a tile outside the picture: with zeros, or with copies of its positions inside.
void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items);

}  // namespace headroom
