#pragma once

#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "planner/search/plan_space.h"

namespace headroom::planner {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// When a search may stop short of a proof.
struct SearchLimits {
  Deadline deadline{};
  /// Slower paths are of no use to the caller: none is returned once all that is left takes as long.
  double cutoff_seconds = std::numeric_limits<double>::infinity();
  /// By pass of the space: how much less than the limit it may use. Empty: nothing less.
  std::vector<int64_t> held_back_bytes{};
};

/// Decisions of a plan space under a limit.
struct Solution {
  std::vector<PassDecision> decisions;  ///< of passes that run
  std::vector<double> pass_seconds;     ///< of them
  std::vector<size_t> passes;           ///< parallel to pass_seconds: which of the space they are
  double seconds = 0;
  int64_t peak_bytes = 0;
  bool limit_was_binding = true;  ///< false: the solution is the same without a limit
};

/// Result of a search for the fastest path, with the bound that it proved.
struct SpaceSearch {
  std::optional<Solution>
      solution;              ///< empty where nothing fits, nothing is faster than the cutoff, or time was up
  double bound_seconds = 0;  ///< no path is faster; where there is none at all, as far as the search came
  bool in_time = true;       ///< the deadline did not end it
};

/// The fastest path over (pass, frontier) under the limit: A* with the bound of PlanSpace::least_seconds_from
/// and Choice::recompute_seconds, which never overestimates, so the first path to reach the end is the
/// fastest.
SpaceSearch fastest(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits = {});

/// Some path under the limit, soon, by weighted A* (the same bound, overstated). Proves nothing. Empty where
/// nothing fits or the deadline came first.
std::optional<Solution> some_path(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits);

/// The smallest limit under which a plan exists: the path whose largest peak is smallest, and the pass that
/// has it.
struct SmallestLimit {
  int64_t bytes = 0;
  size_t pass = 0;
  std::vector<PassDecision> decisions;
};
SmallestLimit smallest_limit(PlanSpace& space);

}  // namespace headroom::planner
