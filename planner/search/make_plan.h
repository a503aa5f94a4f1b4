#pragma once

#include "decoder/base/errors.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {

/// The fastest plan over all configurations under the options' limits, checked by the validator. Empty if
/// nothing fits; planner/explain/why_not.h finds the reason.
///
/// On CUDA the fastest plan may leave no room for gaps between its allocations. Then the result is a slower
/// plan that has room, and it is not marked optimal. Throws NoPlanInTime if the time budget ends before any
/// plan was found.
std::optional<Plan> make_plan(const Problem& problem);

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
