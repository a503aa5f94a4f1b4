#pragma once

#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/memory.h"

namespace headroom {

/// The choices for one pass; everything else in a plan follows from them. A plan has one decision for each
/// entry of barrier_targets(). An optional entry has one only if its pass runs and keeps one of its cut
/// points.
struct PassDecision {
  std::vector<TensorId> keeps{};     ///< written whole in this pass
  std::vector<TensorId> in_place{};  ///< subset of `keeps`: written into the blocks of the tensor they are
                                     ///< added to
  std::vector<TensorId> below{};     ///< subset of `keeps`: stored in the plan's lower tier. Keys and their
                                     ///< values go together
  Extent tile{};  ///< tile extent in grid positions. An extent beyond the grid means one tile
  ConvolutionAlgorithms convolutions{};
  bool at_cut_point = false;  ///< this is an optional pass
  bool carries_rows = false;  ///< Pass::carries_rows
  friend bool operator==(const PassDecision&, const PassDecision&) = default;
};

/// True for an optional pass: it only stores tensors at cut points. No barrier and no output requires it.
bool ends_at_cut_point(const Graph& graph, const Pass& pass);

/// The goal of a pass: its barriers and the tensors to keep.
PassGoal goal_of(const BarrierTargets& targets, const PassDecision& decision, const Sizes& sizes);

/// The rows of the pass's grid that this rank decodes, cut into bands of `length` rows. In a pass that
/// carries rows, first_band_rows() gives the first band's height.
std::vector<Interval> cut_rows(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes);
/// True if the pass may be cut into bands of `length` rows. A pass that carries rows needs several bands, and
/// the first must not be the highest.
bool suits_bands(const Graph& graph, const Pass& pass, int64_t length, int64_t grid_rows);
/// The rows of cut_rows(), and all columns and frames of the grid, cut into tiles.
Axes<std::vector<Interval>> cut_grid(const Graph& graph, const Pass& pass, const Extent& tile,
                                     const Sizes& sizes);

/// A tile for which cut_grid() returns the pass's tiles.
Extent cut_tile(const Graph& graph, const Pass& pass);

/// Choices that hold for a whole plan.
struct PlanConfiguration {
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  MemoryTier lower_tier = MemoryTier::scratch;  ///< tier of the tensors in PassDecision::below
  RankShare share{};
};

/// Builds a whole plan from its decisions: lowered passes, lifetimes and predicted peaks. Leaves seconds at
/// 0. Throws std::logic_error if decisions contradict one another.
Plan build_plan(const Model& model, const Request& request, const PlanConfiguration& configuration,
                const std::vector<PassDecision>& decisions, const MemoryModel& memory);

/// Builds plans for `ranks` ranks from the same decisions, and their transfers. Rows are divided equally.
/// Leaves seconds and the link at 0. Throws std::logic_error if decisions contradict one another.
Plans build_plans(const Model& model, const Request& request, const PlanConfiguration& configuration,
                  const std::vector<PassDecision>& decisions, const MemoryModel& memory, int32_t ranks);

/// The plan that decodes every pass as one tile and keeps every tensor that a later pass reads: the untiled
/// decode, for comparison and for profiling. It has no limit.
Plan untiled_plan(const Model& model, const Request& request,
                  ConvolutionAlgorithm convolutions = ConvolutionAlgorithm::direct);

/// Another plan for the same pixels, used to verify `plan` if the untiled decode does not fit. It keeps the
/// same tensors under the same limits. Tiles are half as high, convolutions use the direct algorithm, and no
/// pass carries rows.
Plan with_halved_tiles(const Model& model, const Plan& plan, const MemoryModel& memory);

}  // namespace headroom
