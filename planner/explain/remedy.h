#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/configurations.h"

namespace headroom::planner {

/// A plan that a remedy makes possible, under the smallest limit that still finds it.
struct LowerPlan {
  int64_t peak_bytes = 0;
  double seconds = 0;
  std::optional<int64_t> needs_bytes{};  ///< in the memory tier that the remedy adds
  WeightResidency weights = WeightResidency::per_pass;
};

/// One change to the request or to the options that may lower the memory, and its effect on its own.
struct Remedy {
  std::string option;   ///< option of headroom-plan, e.g. "--dtype bf16"; empty for the unchanged request
  std::string meaning;  ///< text for people: "kept tensors are stored in 16 bits"
  /// The smallest limit under which there is a plan with the remedy; unset if the requested limit is enough.
  std::optional<int64_t> smallest_limit_bytes{};
  /// Time of a plan with the remedy, under the requested limit or else the smallest one; unset if unknown.
  std::optional<double> seconds{};
  std::optional<int64_t> needs_bytes{};  ///< bytes of that plan in the memory tier that the remedy adds
  /// Weight residency of that plan. Set by what_would_lower() only.
  WeightResidency weights = WeightResidency::per_pass;
  /// Lowest plan that takes about as long as the existing plan. Set by what_would_lower() only.
  std::optional<LowerPlan> about_as_fast{};
};

struct RemediesFound {
  /// Remedies that make the request fit come first, fastest first.
  std::vector<Remedy> remedies;
  std::vector<std::string> not_looked_at;  ///< options of remedies that the search had no time for
};

/// Tries each remedy alone under the problem's limit. A remedy that makes a plan possible gets the time of
/// that plan. Any other remedy gets its smallest limit. It is dropped if that limit is not below
/// `smallest_limit_bytes`, the smallest limit of the unchanged request. Micro-batches are no remedy, since
/// every search tries them. Calls `go_on` before each search. Once it returns false, the remaining remedies
/// are skipped. `spaces` must be the problem's spaces.
RemediesFound remedies_under_limit(const Problem& problem, const Spaces& spaces, int64_t smallest_limit_bytes,
                                   const std::function<bool()>& go_on);

/// Size of the tier that a remedy adds, in practice unlimited.
constexpr int64_t kAmpleBytes = int64_t{1} << 50;

/// A remedy, and the problem changed accordingly.
struct RemedyCandidate {
  Remedy remedy;
  Problem problem;
  std::optional<MemoryTier> added{};  ///< the memory tier that it adds
};

/// All remedies that may help. The one with the slowest search comes last.
std::vector<RemedyCandidate> remedy_candidates(const Problem& problem);

}  // namespace headroom::planner
