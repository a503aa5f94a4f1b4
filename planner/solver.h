#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/plan_space.h"

namespace headroom {

/// The fastest decisions of a plan space under a limit.
struct Solution {
  std::vector<PassDecision> decisions;
  std::vector<double> pass_seconds;
  double seconds = 0;
};

/// Shortest path over (pass, frontier): A* with the bound of PlanSpace::least_seconds_from, which never
/// overestimates, so the first path to reach the end is the fastest. Empty where nothing fits.
std::optional<Solution> fastest(PlanSpace& space, int64_t limit_bytes);

/// The smallest limit under which a plan exists, and the pass that needs it: the path whose largest peak is smallest.
struct SmallestLimit {
  int64_t bytes = 0;
  size_t pass = 0;
};
SmallestLimit smallest_limit(PlanSpace& space);

/// The fastest plan under the limit over all slicings of the batch, checked by the validator.
/// Throws DoesNotFit with the smallest limit that would do and the pass that forbids less.
Plan make_plan(const Model& model, const Request& request, int64_t limit_bytes, const CostModel& costs);

}  // namespace headroom
