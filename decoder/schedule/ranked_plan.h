#pragma once

#include <span>
#include <vector>

#include "decoder/plan/ranked_plan.h"
#include "decoder/schedule/build_plan.h"

namespace headroom {

/// Builds plans for `ranks` ranks from the same decisions, and their transfers. Rows are divided equally.
/// Leaves seconds and the link at 0. Throws std::logic_error if decisions contradict one another.
RankedPlan build_ranked_plan(const Model& model, const Request& request,
                             const PlanConfiguration& configuration,
                             const std::vector<PassDecision>& decisions, const MemoryModel& memory,
                             int32_t ranks);

/// The rows that each rank reads from other ranks.
std::vector<RowTransfer> row_transfers(const Graph& graph, const std::vector<Plan>& plans);

/// Bytes that each rank sends in a whole decode.
std::vector<RankTraffic> traffic_of(const Graph& graph, const RankedPlan& plan);

/// Number of values in a step's statistics for a micro-batch: count, mean and squared differences of every
/// group, or sums of keys and values.
int64_t statistics_values(const Graph& graph, const Step& step, const Sizes& sizes);

/// The first band of a pass that reads one of these rows, or the number of bands if none does. Returns 0 if
/// the pass overwrites one of the tensors in place. `plan` is the receiving rank's.
size_t first_band_of(const Graph& graph, const Plan& plan, size_t pass,
                     std::span<const RowTransfer* const> rows);

}  // namespace headroom
