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
  /// The smallest limit under which there is a plan with the remedy; unset if the requested limit is enough.
  std::optional<int64_t> smallest_limit_bytes{};
  /// Time of a plan with the remedy, under the requested limit or else the smallest one; unset if unknown.
  std::optional<double> seconds{};
  std::optional<int64_t> needs_bytes{};  ///< of that plan in the memory tier that the remedy adds
  WeightResidency weights = WeightResidency::per_pass;  ///< of that plan; only of what_would_lower()
  /// The lowest peak in about the time of a plan that there is already; only of what_would_lower().
  std::optional<LowerPlan> about_as_fast{};
};

struct RemediesFound {
  /// Remedies that make the request fit come first, fastest first.
  std::vector<Remedy> remedies;
  std::vector<std::string> not_looked_at;  ///< options of those for which there was no time
};

/// Tries each remedy alone under the problem's limit. A remedy that makes a plan possible gets the time of
/// that plan. Any other remedy gets the smallest limit that it needs. It is left out if it needs
/// `smallest_limit_bytes` or more, as the request does without it. Micro-batches are no remedy, since every
/// search tries them. `go_on` is called before each search; when it returns false, the remaining remedies are
/// skipped. `spaces` are those of the problem.
RemediesFound remedies_under_limit(const Problem& problem, const Spaces& spaces, int64_t smallest_limit_bytes,
                                   const std::function<bool()>& go_on);

}  // namespace headroom::planner
