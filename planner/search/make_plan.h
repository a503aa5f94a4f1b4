#pragma once

#include "planner/search/configurations.h"

namespace headroom::planner {

/// The fastest plan under the options' limits over all frames, checked by the validator. On CUDA, where the
/// fastest may leave no room for the gaps between what is live, the first of slower ones that does: it is
/// then not called optimal.
/// Throws NothingFits with the smallest limit that would do, what stands in the way, and what else would
/// help; InputError where the time budget ends before any plan was found.
Plan make_plan(const Model& model, const Request& request, const PlanOptions& options,
               const CostModel& costs);

/// The fastest of the plans whose live bytes are the fewest; its limit is what it takes, and the smallest
/// that make_plan() is sure to plan for. On CUDA other gaps may let a slightly smaller one do.
Plan smallest_plan(const Spaces& spaces, const Model& model, const Request& request,
                   const PlanOptions& options, const CostModel& costs);

/// The plan of a solution, checked by the validator: one that does not pass is a fault of ours
/// (std::logic_error). On CUDA with the gaps between what is live (planner/search/add_gaps.h); its limit is
/// larger than the options' where there is no room for them.
Plan plan_of(const Solution& solution, const Model& model, const Request& request, const Configuration& frame,
             const PlanOptions& options, const CostModel& costs);

}  // namespace headroom::planner
