#pragma once

#include "planner/search/configurations.h"

namespace headroom::planner {

/// How far to go for a plan with room for its gaps.
struct GapSearch {
  Deadline deadline{};  ///< of the searches for a plan that needs less
  /// If none of these searches finds a plan with room, try the plan that needs least. Finding it may take a
  /// second, whatever the deadline.
  bool tries_smallest = true;
};

/// The plan of what a search in `spaces` under the problem's limit has found, as it is written to a file:
/// within the limits, with its start, its bound, and `optimal` where the bound proves it. On CUDA what is
/// live has gaps between it, and what was found may leave no room for them. Then the searches are repeated
/// with less for what is live. Empty where no plan with its gaps fits the limits. `found` must have a best.
std::optional<Plan> finish_plan(const Problem& problem, const Spaces& spaces,
                                const ConfigurationSearch& found, const GapSearch& gaps = {});

/// The fastest of the plans whose live bytes are the fewest; its limit is what it takes, and the smallest
/// that make_plan() is sure to plan for. On CUDA other gaps may let a slightly smaller one do.
Plan smallest_plan(const Problem& problem, const Spaces& spaces);

/// Another plan with as few live bytes, found sooner: it may be somewhat slower. On CUDA its gaps are its
/// own; make_plan() is sure to plan for its limit too.
Plan quick_smallest_plan(const Problem& problem, const Spaces& spaces);

/// The limit of such a plan, found sooner still: on CUDA smaller gaps are not looked for where they are a
/// fiftieth of what is live.
int64_t small_limit_bytes(const Problem& problem, const Spaces& spaces);

/// Needs of a solution under the smallest limit that has room for it.
struct Needed {
  int64_t limit_bytes = 0;  ///< its live bytes, and on CUDA the gaps between them
  double seconds = 0;       ///< on CUDA with those of what is moved between passes
};
Needed needed_by(const Problem& problem, const ConfigurationSearch::Best& best);

/// The plan of one solution, checked by the validator: one that does not pass is a fault of ours
/// (std::logic_error). On CUDA with the gaps between what is live (planner/search/add_gaps.h); its limits are
/// larger than the options' where there is no room for them. Its bound is still open.
Plan plan_of(const Problem& problem, const ConfigurationSearch::Best& best);

}  // namespace headroom::planner
