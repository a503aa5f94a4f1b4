#pragma once

#include "decoder/plan/stats.h"
#include "reports/figures/chart.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// A row for each pass of a plan: tiles, algorithm, predicted peak, time and GFLOP; with a run's statistics
/// the measured ones and their ratios beside them. The pass that decides the peak stands out. `run` may be
/// null; it must be a run of this plan (planner/explain/analyze.h).
Table passes_table(const PlanDocument& plan, const RunStats* run);

/// The passes of a run alone, where the plan is not at hand.
Table passes_table(const RunStats& run);

/// Kept tensors against passes: which passes write, hold and read each, and where it lives.
struct KeptSpan {
  std::string tensor;
  MemoryTier tier = MemoryTier::device;
  int32_t first_pass = 0;
  int32_t last_pass = 0;
  std::vector<int32_t> read_in;
  int64_t bytes = 0;
  std::string in_place_of;  ///< empty where it has blocks of its own
};
std::vector<KeptSpan> kept_spans(const PlanDocument& plan);  ///< in the order in which they are written

/// The kept spans as a table.
Table kept_table(const PlanDocument& plan);

/// Peak against time: the frontier's points as a line, the limit as a vertical guide where it is above 0, and
/// a note at the plan that it allows.
Chart frontier_chart(const std::vector<planner::FrontierPoint>& points, int64_t limit_bytes);
Table frontier_table(const std::vector<planner::FrontierPoint>& points);

}  // namespace headroom::reports
