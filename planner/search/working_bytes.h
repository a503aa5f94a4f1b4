#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "decoder/lowering/peak.h"
#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// What the steps of a pass need beside materialised tensors: tiles, carried frames and workspace, by the
/// tile's size. Which rows of tensors are stored does not change it, nor which part of a pass it is, so all
/// options with the same steps share it. Graph and costs must outlive it.
class WorkingBytes {
 public:
  /// `lowered` without tiles.
  WorkingBytes(const Graph& graph, const CostModel& costs, const Sizes& sizes, Pass lowered)
      : graph_(graph), costs_(costs), sizes_(sizes), pass_(std::move(lowered)) {}

  bool has_steps_of(const Pass& pass) const {
    return pass_.scale == pass.scale && pass_.carries_rows == pass.carries_rows && pass_.steps == pass.steps;
  }
  /// By segment of the pass (decoder/lowering/peak.h); `staged` are keys and values that come block by block.
  /// Worked out when first asked for: most sizes of most passes never are.
  const std::vector<SegmentBytes>& of_tile(const BandTile& tile, const ConvolutionAlgorithms& algorithms,
                                           const std::vector<TensorId>& staged);

  const Graph& graph() const { return graph_; }
  const CostModel& costs() const { return costs_; }

 private:
  const Graph& graph_;
  const CostModel& costs_;
  const Sizes sizes_;
  Pass pass_;  ///< its algorithms are those that were looked at last
  using Key = std::tuple<int64_t, int64_t, int64_t, BandPlace, ConvolutionAlgorithms, std::vector<TensorId>>;
  std::map<Key, std::vector<SegmentBytes>> known_;
};

}  // namespace headroom::planner
