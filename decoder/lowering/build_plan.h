#pragma once

#include <vector>

#include "decoder/graph/model.h"
#include "decoder/lowering/lowering.h"
#include "decoder/lowering/memory.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The choices that make a plan: one entry per entry of barrier_targets(), of optional ones only where the
/// pass runs and keeps one of their tensors. Everything else follows from them.
struct PassDecision {
  std::vector<TensorId> keeps{};     ///< written whole in this pass
  std::vector<TensorId> in_place{};  ///< those of `keeps` that take over the blocks of what they are added to
  std::vector<TensorId>
      below{};    ///< those of `keeps` that live in the plan's lower tier, keys with their values
  Extent tile{};  ///< length of tiles in the pass's grid; larger than the grid means whole
  ConvolutionAlgorithms convolutions{};
  bool at_cut_point = false;  ///< of an optional pass
  bool carries_rows = false;  ///< Pass::carries_rows
  friend bool operator==(const PassDecision&, const PassDecision&) = default;
};

/// True where no barrier and no output asks for the pass: it stores tensors at optional cut points, and
/// nothing else.
bool ends_at_cut_point(const Graph& graph, const Pass& pass);

/// The goal of a pass: its barriers and what is to be kept.
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
  MemoryTier lower_tier = MemoryTier::scratch;  ///< of tensors that decisions put below the device
  RankShare share{};
};

/// A whole plan from its decisions: lowered passes, lifetimes and predicted peaks.
/// Seconds are left at 0. Throws std::logic_error where the decisions contradict one another.
Plan build_plan(const Model& model, const Request& request, const PlanConfiguration& configuration,
                const std::vector<PassDecision>& decisions, const MemoryModel& memory);

/// The plan that decodes every pass as one tile and keeps every tensor that a later pass reads: the untiled
/// decode, for comparison and for profiling. It has no limit.
Plan untiled_plan(const Model& model, const Request& request,
                  ConvolutionAlgorithm convolutions = ConvolutionAlgorithm::direct);

/// An independent way to the same pixels, to verify `plan` where the untiled decode does not fit. Keeps the
/// same tensors under the same limits. Tiles are half as high, convolutions use the direct algorithm, and no
/// pass carries rows.
Plan with_halved_tiles(const Model& model, const Plan& plan, const MemoryModel& memory);

}  // namespace headroom
