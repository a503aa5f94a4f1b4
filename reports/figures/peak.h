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

/// Remedies that planner::what_would_lower() finds, with the bytes that each saves of `peak_bytes`. The
/// remedy with the lowest peak stands out.
Table remedies_table(const std::vector<planner::Remedy>& remedies, int64_t peak_bytes);

}  // namespace headroom::reports
