#pragma once

#include <optional>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Work that convolutions do beside their own. On CUDA those of a picture write kept tensors themselves;
/// blocks of a clip have all frames of a few rows, which they would write badly. In 16 bits they add
/// residuals too: for fp32 cuDNN has no kernel for that.
struct Fusion {
  bool blocks = false, residuals = false;
};
Fusion fusion_on(const Sizes& sizes);

/// Goal of one pass.
struct PassGoal {
  std::vector<OpId> statistics;  ///< statistics and sums to take
  std::vector<TensorId> keeps;   ///< tensors to write whole
  std::vector<TensorId>
      in_place;               ///< those of `keeps` that take over the blocks of a kept operand of their add
  bool emits = false;         ///< hand the graph's output on
  Fusion fusion{};            ///< as fusion_on() says
  bool carries_rows = false;  ///< Pass::carries_rows
};

/// The barriers of one depth: what the pass of that depth must compute whole before anything deeper can
/// start.
struct BarrierTargets {
  std::vector<OpId> statistics;  ///< and sums of keys and values
  std::vector<TensorId> kept;    ///< keys and values
  /// Tensors at which an optional pass may end although no barrier needs it. Such a pass keeps one of them.
  std::vector<TensorId> cut_points;
  bool emits = false;
  /// The plan may leave the pass out. A later pass then computes its tensors.
  bool optional() const { return !cut_points.empty(); }
};

/// One entry per pass, in the order in which passes must run; the last one emits the output.
std::vector<BarrierTargets> barrier_targets(const Graph& graph);

/// A tensor that the pass computes; all of them are of its depth.
TensorId any_target(const Graph& graph, const BarrierTargets& targets);

/// Lowers a pass to the steps that every tile runs. Operations between what is kept and the goals are
/// repeated per tile with the halo that the later ones need; positions outside the picture appear only where
/// a convolution reads them. Tiles and predictions are left empty. `kept[i]` says whether
/// tensor i can be read whole: written by an earlier pass, or measured if it is statistics. Throws
/// std::logic_error where the goal needs something that only a later pass could provide.
Pass lower_pass(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal);

/// Another way to the same goal that may be faster than this pass, which was lowered to it: carrying rows,
/// where tiles would compute rows of each other by convolutions. Empty where there is none.
std::optional<PassGoal> alternative_to(const PassGoal& goal, const Pass& lowered, const Sizes& sizes);

/// The kept operand whose blocks `target` could take over in a pass with this goal, or -1: its
/// producer must add that operand, and nothing else in the pass may read it or need `target` beyond the tile.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal,
                       TensorId target);
/// in_place_base() for a pass that was already lowered, with nothing in place.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const Pass& without,
                       TensorId target);

}  // namespace headroom
