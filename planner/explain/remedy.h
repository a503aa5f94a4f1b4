#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/configurations.h"

namespace headroom::planner {

/// A plan that a remedy brings: the smallest limit under which it is found, and what it takes.
struct LowerPlan {
  int64_t peak_bytes = 0;
  double seconds = 0;
  std::optional<int64_t> needs_bytes{};  ///< in the memory tier that the remedy adds
  WeightResidency weights = WeightResidency::per_pass;
};

/// Another value of the request or of the options with which less memory may do, and what it alone would
/// bring.
struct Remedy {
  std::string option;   ///< of headroom-plan, e.g. "--dtype bf16"; empty for the request as it is
  std::string meaning;  ///< in words: "kept tensors are stored in 16 bits"
  /// The smallest limit under which there is a plan with it; none where the limit that was asked for will do.
  std::optional<int64_t> smallest_limit_bytes{};
  /// Of a plan with it under the limit that was asked for, or else under the smallest one, where it is known.
  std::optional<double> seconds{};
  std::optional<int64_t> needs_bytes{};  ///< of that plan in the memory tier that the remedy adds
  WeightResidency weights = WeightResidency::per_pass;  ///< of that plan; only of what_would_lower()
  /// The lowest peak in about the time of a plan that there is already; only of what_would_lower().
  std::optional<LowerPlan> about_as_fast{};
};

struct RemediesFound {
  /// Those that do come first, fastest first.
  std::vector<Remedy> remedies;
  std::vector<std::string> not_looked_at;  ///< options of those for which there was no time
};

/// Whether each remedy alone makes a plan possible under the problem's limit, and how fast it is; for those
/// that do not, the smallest limit that they need. Remedies that need `smallest_limit_bytes` or more, as the
/// request does without them, are left out. Batches in micro-batches are no remedy: they are searched anyway.
/// `go_on` is asked before each search; where it says false, what is left is not looked at. `spaces` are
/// those of the problem.
RemediesFound remedies_under_limit(const Problem& problem, const Spaces& spaces, int64_t smallest_limit_bytes,
                                   const std::function<bool()>& go_on);

}  // namespace headroom::planner
