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
  /// Stops without a solution once every remaining path takes at least this long.
  double cutoff_seconds = std::numeric_limits<double>::infinity();
  /// By pass of the space: bytes of the limit that the pass may not use. Empty: zero for all passes.
  std::vector<int64_t> held_back_bytes{};
};

/// Decisions of a plan space under a limit.
struct Solution {
  std::vector<PassDecision> decisions;  ///< for passes that run
  std::vector<double> pass_seconds;     ///< parallel to `decisions`
  std::vector<size_t> passes;           ///< parallel to `decisions`: index of the pass in the space
  double seconds = 0;
  int64_t peak_bytes = 0;
  bool limit_was_binding = true;  ///< false: the solution is the same without a limit
};

/// Result of a search for the fastest path, with the bound that it proved.
struct SpaceSearch {
  std::optional<Solution> solution;  ///< empty if nothing fits, nothing beats the cutoff, or time ran out
  double bound_seconds = 0;  ///< no path is faster; without any path, the bound that the search reached
  bool in_time = true;       ///< false if the deadline ended the search
};

/// The fastest path over (pass, frontier) under the limit: A* with the bound of PlanSpace::least_seconds_from
/// and Choice::recompute_seconds, which never overestimates, so the first path to reach the end is the
/// fastest.
SpaceSearch fastest(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits = {});

/// Quickly finds some path under the limit, by weighted A* (the same bound, overstated). Proves nothing.
/// Empty if nothing fits or the deadline came first.
std::optional<Solution> some_path(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits);

/// The smallest limit under which a plan exists: the path with the smallest peak, and the pass that has this
/// peak.
struct SmallestLimit {
  int64_t bytes = 0;
  size_t pass = 0;
  std::vector<PassDecision> decisions;
};
SmallestLimit smallest_limit(PlanSpace& space);

}  // namespace headroom::planner
