#pragma once

#include <string>

#include "planner/cost/cost_model.h"

namespace headroom::planner {

// What a profile must be of so that plans may be made by it. Each throws InputError naming the file, what it
// has and what was expected.

/// The layers of this graph, with its channels, in the dtype and on the kind of device that is planned for.
void check_profiled_model(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Request& request);

/// This machine's processor, as far as it can be told without LibTorch. A GPU cannot: the decode tells.
void check_profiled_machine(const profiler::Profile& profile, const std::string& file);

/// Refuses a plan with tiles far beyond what was measured, where a layer's cost was still changing there.
/// Such tiles are no part of the plan space; where a pass has no others it has these.
void check_profiled_range(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Plan& plan);

/// What the steps of a request cost: by a profile's file, which must be of this model and, unless
/// `other_environment`, of this machine; by stated assumptions where it has no name. Throws InputError.
CostModel costs_of(const Graph& graph, const Request& request, const std::string& profile_file,
                   bool other_environment = false);

}  // namespace headroom::planner
