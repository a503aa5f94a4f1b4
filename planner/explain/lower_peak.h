#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/explain/remedy.h"

// Options that lower the peak of a plan that fits, and their cost in time.
namespace headroom::planner {

/// A plan that takes at most this many times as long counts as about as fast.
constexpr double kAboutAsFast = 1.05;
/// Seconds of search while a user waits for the answer (for_seconds()). One value everywhere, so that all
/// front ends name the same plans.
constexpr double kSecondsToLook = 5;

struct LowerPeak {
  /// First the request as it is under a smaller limit, then each remedy alone, lowest first; only what is
  /// lower than the plan, and remedies that go lower than the request does without them. Each at its smallest
  /// limit, and, where there is one, as the lowest plan that is about as fast.
  std::vector<Remedy> remedies;
  std::vector<std::string> not_looked_at;  ///< options of remedies for which there was no time
  /// Options of remedies whose smallest limit is known, but there was no time to find their lowest plan that
  /// is about as fast.
  std::vector<std::string> not_looked_at_as_fast;
};

/// "--dtype bf16, --scratch DIR in at most 5 % more time": empty where everything was looked at.
std::string not_looked_at(const LowerPeak& lower);

/// One plan with a lower peak: what programs, reports and the window name.
struct LowerWay {
  Remedy remedy;
  LowerPlan plan;
  bool about_as_fast = false;  ///< or else the lowest that there is with this remedy
};

/// The plans that are known, remedy by remedy: the one that is about as fast, and the lowest where that is
/// another.
std::vector<LowerWay> lower_ways(const LowerPeak& lower);

/// The options that a plan was made with, as far as its file says: whether parameters had to stay is not in
/// it.
PlanOptions options_of(const Plan& plan);

/// `problem` has the costs that `plan` was made by; its limit does not matter. `go_on` is asked before each
/// search. Where it says false, what is known by then is returned. On CUDA the bytes have the gaps of a
/// reservation in them, as the planner's own plans do. Throws InputError as spaces_of() does.
LowerPeak what_would_lower(const Problem& problem, const Plan& plan, const std::function<bool()>& go_on);

/// Seconds that the calling thread has worked since it began.
double own_seconds();
/// True for so many seconds of the calling thread's own work: others on a busy machine do not count.
std::function<bool()> for_seconds(double seconds);

}  // namespace headroom::planner
