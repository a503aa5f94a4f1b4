#pragma once

#include <string>

#include "planner/cost/cost_model.h"

namespace headroom::planner {

// Checks that a profile is valid for the plans to be made by it. Each throws InputError with the file, the
// value found and the value expected.

/// The profile must have this graph's layers and channels, in the request's dtype and kind of device.
void check_profiled_model(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Request& request);

/// The profile must be of this machine's processor. A GPU is not checked here, since that needs LibTorch: the
/// decode checks it.
void check_profiled_machine(const profiler::Profile& profile, const std::string& file);

/// Refuses a plan with tiles far beyond what was measured, where a layer's cost was still changing there.
/// Such tiles are no part of the plan space; where a pass has no others it has these.
void check_profiled_range(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Plan& plan);

/// Costs of a request's steps. They come from the profile, which must be of this model and, unless
/// `other_environment`, of this machine. An empty `profile_file` gives assumed costs. Throws InputError.
CostModel costs_of(const Graph& graph, const Request& request, const std::string& profile_file,
                   bool other_environment = false);

}  // namespace headroom::planner
