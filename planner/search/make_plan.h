#pragma once

#include <optional>
#include <vector>

#include "decoder/base/errors.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {

/// The fastest plan over all configurations under the options' limits, or a smaller one within their thrift,
/// checked by the validator. Empty if nothing fits; planner/explain/why_not.h finds the reason.
///
/// On CUDA the fastest plan may leave no room for gaps between its allocations. Then the result is a slower
/// plan that has room, and it is not marked optimal. Throws NoPlanInTime if the time budget ends before any
/// plan was found.
std::optional<Plan> make_plan(const Problem& problem);

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

/// The time budget ended before the search found a plan or proved that there is none. The smallest limit is
/// unknown, so it is reported as 0.
class NoPlanInTime : public DoesNotFit {
 public:
  /// No plan of `problem` takes less than `bound` seconds.
  NoPlanInTime(const Problem& problem, double bound);
  double bound_seconds;
};

/// End of the options' time budget, if it starts now.
Deadline deadline_of(const PlanOptions& options);

}  // namespace headroom::planner
