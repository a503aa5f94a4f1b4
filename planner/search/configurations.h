#pragma once

#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/solver.h"

namespace headroom::planner {

/// What a plan may use, and how long it may take to find it.
struct PlanOptions {
  int64_t limit_bytes = 0;
  int64_t host_limit_bytes = 0;     ///< 0: no tensor lives in host memory
  int64_t scratch_limit_bytes = 0;  ///< 0: none in a scratch file
  std::string scratch_folder{};
  /// When parameters are on the device; whichever is faster where it is left open.
  std::optional<WeightResidency> weights{};
  /// How long to search; until the best is proven where it is left open.
  std::optional<double> time_budget_seconds{};
};

using Spaces = std::vector<std::unique_ptr<PlanSpace>>;

/// The spaces of every frame that the options allow: together they are what is searched. Throws InputError
/// where the device has no such place.
Spaces spaces_of(const Model& model, const Request& request, const PlanOptions& options,
                 const CostModel& costs);

/// The best of all frames under a limit, and what has been proven of it.
struct ConfigurationSearch {
  struct Best {
    Solution solution;
    Configuration frame;
    double start_seconds = 0;  ///< of loading weights that stay
    double seconds = 0;        ///< of the whole batch, of which a solution runs one micro-batch
  };
  std::optional<Best> best;
  double bound_seconds = 0;  ///< no plan of any space under the limit is faster
  bool in_time = true;       ///< the deadline did not end the search
};
ConfigurationSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                 std::optional<std::chrono::steady_clock::time_point> deadline = {});

/// The smallest limit of all frames.
struct SmallestOver {
  SmallestLimit smallest{std::numeric_limits<int64_t>::max(), 0, {}};
  Configuration frame{};
};
SmallestOver smallest_over(const Spaces& spaces);

}  // namespace headroom::planner
