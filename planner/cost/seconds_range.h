#pragma once

#include <string>

#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// Sets between which seconds a plan's decode stays nine times of ten: by how precisely each latency table
/// was measured, weighted with what the plan spends on its calls (profiler/profile/time_error.h). Where costs
/// have no latency tables nothing is set.
void set_seconds_range(Plan& plan, const Graph& graph, const CostModel& costs);

/// "7.33 s", or "7.33 s (6.60 s to 8.06 s)" where there is a range.
std::string seconds_text(const Plan& plan);
/// "by assumed costs of an H100" or "by the profile": where these seconds come from.
std::string costs_text(const Plan& plan);

}  // namespace headroom::planner
