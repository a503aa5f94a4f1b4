#pragma once

#include "planner/search/configurations.h"

namespace headroom::planner {

/// Limits that the planner tries beside the request's own, so that a plan under a small limit is a candidate
/// for every larger one. All requests share them: neighbours differ by 9 %.
int limit_step_of(int64_t bytes);  ///< the largest one that is at most `bytes`
int64_t limit_at(int step);

/// Looks for a plan that needs less memory than `fastest` and takes at most `share` longer (0.01 is 1 %).
/// Returns the fastest plan under the smallest such limit_at(), or `fastest` if there is none.
///
/// The plan has the weight residency of `fastest`, because weights that stay in memory also serve later
/// decodes, which the seconds of one decode do not show.
///
/// `fastest` must be the fastest plan under some limit. The result depends on its seconds alone, and a faster
/// `fastest` never gives a slower result. So a larger limit never gives a slower plan.
ConfigurationSearch::Best thrifty_over(const Spaces& spaces, const Request& request,
                                       const ConfigurationSearch::Best& fastest, double share,
                                       Deadline deadline);

}  // namespace headroom::planner
