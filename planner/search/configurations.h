#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/problem.h"
#include "planner/search/solver.h"

namespace headroom::planner {

using Spaces = std::vector<std::unique_ptr<PlanSpace>>;

/// The spaces of every configuration that the options allow: together they are what is searched. Throws
/// InputError where the device has no such tier. Catalogs of `alike` that are of the same passes serve here
/// too: what they have worked out and priced is not done again.
Spaces spaces_of(const Problem& problem, const Spaces& alike = {});

/// The best of all configurations under a limit, and what has been proven of it.
struct ConfigurationSearch {
  struct Best {
    Solution solution;
    Configuration configuration;
    double start_seconds = 0;  ///< of loading weights that stay
    double seconds = 0;        ///< of the whole batch, of which a solution runs one micro-batch
  };
  std::optional<Best> best;
  double bound_seconds = 0;  ///< no plan of any space under the limit is faster
  bool in_time = true;       ///< the deadline did not end the search
};
/// `limits` are those of each search but for its cutoff.
ConfigurationSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                 const SearchLimits& limits = {});

/// Some good plan of them under a limit, soon; nothing is proven of it. Empty where nothing fits.
std::optional<ConfigurationSearch::Best> some_over(const Spaces& spaces, const Request& request,
                                                   int64_t limit_bytes);

/// The smallest limit of all configurations.
struct SmallestOver {
  SmallestLimit smallest{std::numeric_limits<int64_t>::max(), 0, {}};
  Configuration configuration{};
};
SmallestOver smallest_over(const Spaces& spaces);

}  // namespace headroom::planner
