#pragma once

#include "planner/search/finish_plan.h"

namespace headroom::planner {

/// The fastest plan under the options' limits over all configurations, checked by the validator; empty where
/// nothing fits (planner/explain/why_not.h finds out why). On CUDA the fastest may leave no room for the gaps
/// between what is live. Then it is the first of the slower ones that does, and it is not called optimal.
/// Throws InputError where the time budget ends before any plan was found.
std::optional<Plan> make_plan(const Problem& problem);

/// When the options' time budget ends that begins now.
Deadline deadline_of(const PlanOptions& options);

}  // namespace headroom::planner
