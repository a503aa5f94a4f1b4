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

// Options that lower the peak of a plan that fits, and their cost in time.

/// A plan that takes at most this many times as long counts as about as fast.
constexpr double kAboutAsFast = 1.05;
/// Search time while a user waits, in seconds (for_seconds()). All front ends use this value, so that they
/// name the same plans.
constexpr double kSecondsToLook = 5;

struct LowerPeak {
  /// First the unchanged request under a smaller limit, then each remedy alone, lowest peak first. Contains
  /// only entries with a lower peak than the plan's. A remedy must also beat the unchanged request. Each
  /// entry has its smallest limit and, if there is one, its lowest plan that is about as fast.
  std::vector<Remedy> remedies;
  std::vector<std::string> not_looked_at;  ///< options of remedies that the search had no time for
  /// Options of remedies with a known smallest limit, but no time was left to find their lowest plan that is
  /// about as fast.
  std::vector<std::string> not_looked_at_as_fast;
};

/// "--dtype bf16, --scratch DIR in at most 5 % more time". Empty if the search covered everything.
std::string not_looked_at(const LowerPeak& lower);

/// One plan with a lower peak, as shown by programs, reports and the window.
struct LowerWay {
  Remedy remedy;
  LowerPlan plan;
  bool about_as_fast = false;  ///< false: the lowest plan with this remedy, however slow
};

/// Lists the known plans, remedy by remedy: the plan that is about as fast, and the lowest plan if that is
/// another one.
std::vector<LowerWay> lower_ways(const LowerPeak& lower);

/// Options that a plan was made with, as far as its file records them. The file does not record a requested
/// weight residency.
PlanOptions options_of(const Plan& plan);

/// Finds changes that lower the peak of `plan`. `problem` must have the plan's costs; its limit is ignored.
/// Calls `go_on` before each search, and stops with the results so far once it returns false. On CUDA the
/// bytes include the gaps of the reservation, as in the planner's plans. Throws InputError like spaces_of().
LowerPeak what_would_lower(const Problem& problem, const Plan& plan, const std::function<bool()>& go_on);

/// CPU seconds of the calling thread since it started.
double own_seconds();
/// A predicate that is true until the calling thread has used `seconds` of CPU time. Other load on the
/// machine does not count.
std::function<bool()> for_seconds(double seconds);

}  // namespace headroom::planner
