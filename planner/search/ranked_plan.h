#pragma once

#include <optional>
#include <vector>

#include "decoder/plan/ranked_plan.h"
#include "planner/search/problem.h"

namespace headroom::planner {

/// A plan for ranks that share the decode, under a limit for each; empty where nothing fits. All of them keep
/// the same tensors, and cut their rows into tiles of the same height. It is the fastest by what the search
/// knows: of the rank with the most rows, waiting for rows above it, and for statistics. The seconds of the
/// plan are then those of the slowest rank with all that is exchanged, so nothing is proven of it, but where
/// there is one rank: then it is the plan of make_plan(). Throws NoPlanInTime as that does, and InputError
/// where tensors were to live below the device.
std::optional<RankedPlan> make_ranked_plan(const Problem& problem, const Ranks& ranks,
                                           const std::vector<int64_t>& limits);

/// The one whose largest rank needs least; each rank's limit is what it takes. make_ranked_plan() is sure to
/// find a plan where no limit is below the largest of these.
RankedPlan smallest_ranked_plan(const Problem& problem, const Ranks& ranks);

}  // namespace headroom::planner
