#pragma once

#include <string>

#include "planner/cost/cost_model.h"

namespace headroom::planner {

// Checks that a profile can be used for a request or a plan. Each function throws InputError with the file,
// the value found and the value expected.

/// The profile must match this graph's layers and channels, and the request's dtype and kind of device.
void check_profiled_model(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Request& request);

/// The profile must come from this machine's processor model. GPUs are not checked here, because that needs
/// LibTorch: the decode checks them.
void check_profiled_machine(const profiler::Profile& profile, const std::string& file);

/// Rejects a plan whose tiles are far larger than the measured ones, if a layer's cost per position was still
/// changing at the largest measured size. The planner uses such tiles only in passes that have no smaller
/// ones.
void check_profiled_range(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Plan& plan);

/// Costs of a request's steps, from the profile. The profile must be for this model. It must also be for this
/// machine, unless `other_environment` is set. An empty `profile_file` gives assumed costs. Throws
/// InputError.
CostModel costs_of(const Graph& graph, const Request& request, const std::string& profile_file,
                   bool other_environment = false);

}  // namespace headroom::planner
