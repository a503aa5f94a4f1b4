#pragma once

#include "decoder/graph/errors.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {

/// The fastest plan under the options' limits over all configurations, checked by the validator; empty where
/// nothing fits (planner/explain/why_not.h finds out why). On CUDA the fastest may leave no room for the gaps
/// between what is live. Then it is the first of the slower ones that does, and it is not called optimal.
/// Throws NoPlanInTime where the time budget ends before any plan was found.
std::optional<Plan> make_plan(const Problem& problem);

/// The time budget ended before any plan was found, and before it was known that there is none. The smallest
/// limit is 0: nobody has looked for it.
class NoPlanInTime : public DoesNotFit {
 public:
  /// No plan of `problem` takes less than `bound` seconds.
  NoPlanInTime(const Problem& problem, double bound);
  double bound_seconds;
};

/// When the options' time budget ends that begins now.
Deadline deadline_of(const PlanOptions& options);

}  // namespace headroom::planner
