#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/explain/remedy.h"

// Options that lower the peak of a plan that fits, and their cost in time.
namespace headroom::planner {

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
