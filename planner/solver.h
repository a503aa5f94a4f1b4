#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "planner/plan_space.h"

namespace headroom {

/// When a search may stop short of a proof.
struct SearchLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// Slower paths are of no use to the caller: none is returned once all that is left takes as long.
  double cutoff_seconds = std::numeric_limits<double>::infinity();
};

/// Decisions of a plan space under a limit, and what has been proven of them.
struct Solution {
  std::vector<PassDecision> decisions;
  std::vector<double> pass_seconds;
  double seconds = 0;
  int64_t peak_bytes = 0;
  double bound_seconds = 0;  ///< no plan of the space under this limit is faster
  bool unhindered = false;   ///< the limit excluded nothing on the way: without one the solution is the same
};

/// The fastest path over (pass, frontier) under the limit: A* with the bound of PlanSpace::least_seconds_from, which
/// never overestimates, so the first path to reach the end is the fastest. Where the deadline comes first, the best path
/// of a greedy search with the bound reached so far. Empty where nothing fits or nothing is faster than the cutoff, and where
/// the deadline came before any path was found.
std::optional<Solution> fastest(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits = {});

/// The smallest limit under which a plan exists: the path whose largest peak is smallest, and the pass that has it.
struct SmallestLimit {
  int64_t bytes = 0;
  size_t pass = 0;
  std::vector<PassDecision> decisions;
};
SmallestLimit smallest_limit(PlanSpace& space);

}  // namespace headroom
