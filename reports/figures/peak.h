#pragma once

#include <string>
#include <vector>

#include "planner/explain/peak.h"
#include "planner/explain/remedy.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {

/// The cause of a plan's peak.
using PeakDecision = planner::PlanPeak;
/// `plan` must hold a plan.
PeakDecision peak_cause(const DocumentPtr& plan);

/// True if the statistics say which part of the peak is the decode's and which is other process memory.
bool has_parts(const RunStats& run);

/// Says why a trace's peak or time differs from the statistics of the same plan's run. `stats_name` names
/// their file. Empty if the figures agree.
std::string trace_beside_stats(const Trace& trace, const Timeline& timeline, const RunStats& run,
                               const std::string& stats_name);

/// Remedies that planner::what_would_lower() finds, with the bytes that each saves of `peak_bytes`. The
/// remedy with the lowest peak stands out.
Table remedies_table(const std::vector<planner::Remedy>& remedies, int64_t peak_bytes);

}  // namespace headroom::reports
