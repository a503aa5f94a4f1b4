#pragma once

#include "decoder/plan/stats.h"
#include "reports/figures/chart.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// A row for each pass of a plan: tiles, algorithm, predicted peak, time and GFLOP. A run's statistics add
/// measured figures and their ratios. The pass that decides the peak stands out. `run` may be null. It must
/// be a run of this plan (planner/explain/analyze.h).
Table passes_table(const PlanDocument& plan, const RunStats* run);

/// The passes of a run without its plan.
Table passes_table(const RunStats& run);

/// One kept tensor: its tier, and the passes that write, hold and read it.
struct KeptSpan {
  std::string tensor;
  MemoryTier tier = MemoryTier::device;
  int32_t first_pass = 0;
  int32_t last_pass = 0;
  std::vector<int32_t> read_in;
  int64_t bytes = 0;
  std::string in_place_of;  ///< empty: the tensor has its own blocks
};
std::vector<KeptSpan> kept_spans(const PlanDocument& plan);  ///< in the order in which they are written

/// The kept spans as a table.
Table kept_table(const PlanDocument& plan);

/// Peak against time: a line through the frontier's points. A limit above 0 adds a vertical guide, and a note
/// at the fastest plan within the limit.
Chart frontier_chart(const std::vector<planner::FrontierPoint>& points, int64_t limit_bytes);
Table frontier_table(const std::vector<planner::FrontierPoint>& points);

}  // namespace headroom::reports
