#pragma once

#include <optional>
#include <vector>

#include "decoder/plan/plan.h"
#include "planner/search/problem.h"

namespace headroom::planner {

/// A plan for ranks that share a decode, with a limit for each rank. Empty if nothing fits. All ranks keep
/// the same tensors and use the same tile height. The search minimises the time of the rank with the most
/// rows, including its waits for rows above and for statistics.
///
/// The predicted seconds are those of the slowest rank with all exchanges, so the plan is never marked
/// optimal. A single rank gets the plan of make_plan(). Throws NoPlanInTime like make_plan(), and InputError
/// if tensors were to live in a lower tier.
std::optional<Plans> make_plans(const Problem& problem, const Ranks& ranks,
                                const std::vector<int64_t>& limits);

/// The plan with the smallest peak of its largest rank. Each rank's limit is its own peak. make_plans()
/// always finds a plan if every limit is at least the largest of these.
Plans smallest_plans(const Problem& problem, const Ranks& ranks);

}  // namespace headroom::planner
