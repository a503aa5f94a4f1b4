#pragma once

#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// What one pass must bring about.
struct PassGoal {
  std::vector<OpId> statistics;  ///< statistics and sums to take
  std::vector<TensorId> keeps;   ///< tensors to write whole
  std::vector<TensorId>
      in_place;        ///< those of `keeps` that take over the blocks of a materialised operand of their add
  bool emits = false;  ///< hand the graph's output on
};

/// The barriers of one depth: what the pass of that depth must compute whole before anything deeper can
/// start.
struct BarrierTargets {
  std::vector<OpId> statistics;  ///< and sums of keys and values
  std::vector<TensorId> whole;   ///< keys and values
  /// Where no barrier asks for a pass, it may end at one of these all the same, keeping it.
  std::vector<TensorId> cut_points;
  bool emits = false;
  /// The pass need not run: what it could compute is computed by a later one.
  bool optional() const { return !cut_points.empty(); }
};

/// One entry per pass, in the order in which passes must run; the last one emits the output.
std::vector<BarrierTargets> barrier_targets(const Graph& graph);

/// A tensor that the pass computes; all of them are of its depth.
TensorId any_target(const Graph& graph, const BarrierTargets& targets);

/// Lowers a pass to the steps that every tile runs. Operations between what is materialised and the goals are
/// repeated per tile with the halo that the later ones need; positions outside the picture appear only where
/// a convolution reads them, as zeros. Tiles and predictions are left empty. `materialised[i]` says whether
/// tensor i can be read whole: written by an earlier pass, or measured if it is statistics. Throws
/// std::logic_error where the goal needs something that only a later pass could provide.
Pass lower_pass(const Graph& graph, const std::vector<bool>& materialised, const PassGoal& goal);

/// The materialised operand whose blocks `target` could take over in a pass with this goal, or -1: its
/// producer must add that operand, and nothing else in the pass may read it or need `target` beyond the tile.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& materialised, const PassGoal& goal,
                       TensorId target);
/// The same where the pass has been lowered already, with nothing in place.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& materialised, const Pass& without,
                       TensorId target);

/// The image of a grid interval of rows or columns in a tensor of another scale: every position that the
/// interval touches.
Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale);

/// The region of the tile that a step makes for one tile of the grid.
Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent);

/// Earlier frames of a step's tile that come from the tile of the chunk before, copied, not computed again.
int64_t carried_frames(const Step& step);

/// True where the pass may be cut along the time: no step needs frames that come after its own.
bool takes_chunks(const Graph& graph, const Pass& pass);

/// Cuts [0, length) into intervals of `tile`, the last one shorter.
std::vector<Interval> cut(int64_t length, int64_t tile);

}  // namespace headroom
