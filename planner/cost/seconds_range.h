#pragma once

#include <string>

#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// Sets the 90 % interval of the plan's predicted time. It combines the errors of the latency tables,
/// weighted by the time that the plan spends in each (profiler/profile/time_error.h). Sets nothing if there
/// are no latency tables.
void set_seconds_range(Plan& plan, const Graph& graph, const CostModel& costs);

/// Multiplies all seconds of a finished plan by the ratio. Does nothing if it was done before.
void correct_seconds(Plan& plan, const LearntSeconds& learnt);

/// "7.33 s", or "7.33 s (6.60 s to 8.06 s)" if there is a range.
std::string seconds_text(const Plan& plan);
/// Source of the predicted times: "by assumed costs of an H100", "by costs learnt from 3 decodes here" or "by
/// the profile".
std::string costs_text(const Plan& plan);

}  // namespace headroom::planner
