#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/problem.h"
#include "planner/search/solver.h"

namespace headroom::planner {

using Spaces = std::vector<std::unique_ptr<PlanSpace>>;

/// One space for each configuration that the options allow. The planner searches all of them. Reuses catalogs
/// of `alike` that were made for the same passes, with everything already computed and priced. Throws
/// InputError if the device has no such memory tier.
Spaces spaces_of(const Problem& problem, const Spaces& alike = {});

/// The best plan over all configurations under a limit, and the bound that the searches proved.
struct ConfigurationSearch {
  struct Best {
    Solution solution;
    Configuration configuration;
    double start_seconds = 0;  ///< loading resident weights
    double seconds = 0;        ///< whole batch; `solution` covers one micro-batch
  };
  std::optional<Best> best;
  double bound_seconds = 0;  ///< no plan of any space under the limit is faster
  bool in_time = true;       ///< the deadline did not end the search
};
/// `limits` apply to each search. The cutoff is for the whole batch: only faster plans
/// are found.
ConfigurationSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                 const SearchLimits& limits = {});

/// Like fastest_over(), for the configurations of one weight residency.
ConfigurationSearch fastest_with(WeightResidency weights, const Spaces& spaces, const Request& request,
                                 int64_t limit_bytes, const SearchLimits& limits);

/// Quickly finds some good plan under a limit, without a proof. Empty if none was found.
std::optional<ConfigurationSearch::Best> some_over(const Spaces& spaces, const Request& request,
                                                   int64_t limit_bytes);

/// The smallest limit of all configurations.
struct SmallestOver {
  SmallestLimit smallest{std::numeric_limits<int64_t>::max(), 0, {}};
  Configuration configuration{};
};
SmallestOver smallest_over(const Spaces& spaces);

}  // namespace headroom::planner
