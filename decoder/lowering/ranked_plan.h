#pragma once

#include <span>
#include <vector>

#include "decoder/lowering/build_plan.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom {

/// The plans of so many ranks from the same decisions, and what they exchange. Rows are shared out equally.
/// Seconds and the link are left at 0. Throws std::logic_error where the decisions contradict one another.
RankedPlan build_ranked_plan(const Model& model, const Request& request,
                             const PlanConfiguration& configuration,
                             const std::vector<PassDecision>& decisions, const MemoryModel& memory,
                             int32_t ranks);

/// Rows that each rank reads and another one owns.
std::vector<RowTransfer> row_transfers(const Graph& graph, const std::vector<Plan>& plans);

/// Bytes that each rank sends in a whole decode.
std::vector<RankTraffic> traffic_of(const Graph& graph, const RankedPlan& plan);

/// Numbers that stand for what a step takes over all positions of a micro-batch: count, mean and squared
/// differences of every group, or sums of keys and values.
int64_t statistics_values(const Graph& graph, const Step& step, const Sizes& sizes);

/// The first band of a pass of the rank that gets these rows in which one of them is read, or is written over
/// in place; the number of bands where none is.
size_t first_band_of(const Graph& graph, const Plan& plan, size_t pass,
                     std::span<const RowTransfer* const> rows);

}  // namespace headroom
