#pragma once

#include <optional>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Operations fused into convolutions, on CUDA only. Convolutions of pictures write kept tensors directly.
/// For clips this would be slow, because a block has a few rows of all frames. In 16 bits, convolutions also
/// add residuals. cuDNN offers engines for that in fp32 too, but nobody has run them in place on a card.
struct Fusion {
  bool blocks = false, residuals = false;
};
Fusion fusion_on(const Sizes& sizes);

/// Goal of one pass.
struct PassGoal {
  std::vector<OpId> statistics;    ///< statistics and sums to measure
  std::vector<TensorId> keeps;     ///< tensors to write whole
  std::vector<TensorId> in_place;  ///< subset of `keeps`: overwrite the blocks of a kept operand of their add
  bool emits = false;              ///< write the graph's output to the sink
  Fusion fusion{};                 ///< result of fusion_on()
  bool carries_rows = false;       ///< Pass::carries_rows
};

/// The barriers of one depth. The pass of this depth must complete them before anything deeper can start.
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

/// A tensor that the pass computes. All of them have the same depth.
TensorId any_target(const Graph& graph, const BarrierTargets& targets);

/// Lowers a pass to the steps that every tile runs. Each tile recomputes the operations between kept tensors
/// and the goals, with the halo that later ones need. Positions outside the picture appear only if a
/// convolution reads them. Leaves tiles and predictions empty.
/// `kept[i]` is true if tensor i can be read whole: an earlier pass wrote it, or measured it if it is
/// statistics. Throws std::logic_error if the goal needs a tensor that only a later pass can provide.
Pass lower_pass(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal);

/// An alternative goal that may be faster than `lowered`, which was lowered from `goal`. It carries rows, if
/// tiles would otherwise recompute rows of each other in convolutions. Empty if there is no alternative.
std::optional<PassGoal> alternative_to(const Graph& graph, const PassGoal& goal, const Pass& lowered,
                                       const Sizes& sizes);

/// The kept operand whose blocks `target` could overwrite in a pass with this goal, or -1. The producer of
/// `target` must add this operand. Nothing else in the pass may read the operand, or need `target` beyond the
/// tile.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const PassGoal& goal,
                       TensorId target);
/// in_place_base() for a pass that is already lowered without in-place writes.
TensorId in_place_base(const Graph& graph, const std::vector<bool>& kept, const Pass& without,
                       TensorId target);

}  // namespace headroom
