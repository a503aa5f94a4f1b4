#pragma once

#include <span>
#include <vector>

#include "planner/cost/device_rates.h"
#include "planner/cost/tile_chain.h"

namespace headroom::planner {

/// Time of passes on a GPU, tile by tile (docs/planning.md, "Time on a GPU"). Refers to the graph, which must
/// outlive it.
class GpuCosts {
 public:
  GpuCosts(const Graph& graph, const GpuCard& card) : graph_(&graph), times_{card} {}
  /// For a profiled card, in this dtype.
  GpuCosts(const Graph& graph, std::shared_ptr<const LatencyLookup> measured, Dtype dtype);

  double pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// pass_seconds() for each combination of height and width. Widths vary fastest in the result.
  std::vector<double> shape_seconds(const Pass& pass, int64_t frames, const std::vector<int64_t>& heights,
                                    const std::vector<int64_t>& widths, const Sizes& sizes) const;
  /// Seconds of each step over all tiles of the pass. Excludes time that only the pass as a whole has: kernel
  /// launches that take longer than the kernels, and the wait before the next pass.
  std::vector<double> step_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Lower bound, by assumed costs, on computing the operation's whole output once, for any tiling.
  double least_seconds(OpId op, const Sizes& sizes) const;
  /// Lower bound, by assumed costs, on writing a whole tensor to its blocks.
  double least_store_seconds(TensorId tensor, const Sizes& sizes) const;
  /// Seconds of copies within the card's memory, one after another. `copied_bytes` has the size of each.
  double copies_seconds(std::span<const int64_t> copied_bytes) const;

 private:
  const Graph* graph_;
  GpuTimes times_;
};

}  // namespace headroom::planner
