#include "planner/explain/lower_peak.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "planner/explain/explain.h"
#include "planner/explain/remedy_candidates.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

/// Limits between the smallest and the plan's peak that are tried, each half way between two in logarithms:
/// of a peak ten times the smallest the answer is 16 % off at most.
constexpr int kLimitsTried = 4;

/// Searches for one remedy.
class LowerSearch {
 public:
  LowerSearch(const RemedyCandidate& candidate, const Plan& plan, const std::function<bool()>& go_on)
      : candidate_(candidate), plan_(plan), go_on_(go_on) {}

  /// False where there was no time for the smallest limit.
  bool run(Remedy& remedy) {
    if (!go_on_()) return false;
    const Spaces spaces = spaces_of(candidate_.problem);
    const int64_t smallest = smallest_over(spaces).smallest.bytes;
    if (!go_on_()) return false;
    const auto lowest = found_under(spaces, smallest);
    remedy.smallest_limit_bytes = smallest;
    remedy.seconds = lowest.value().seconds;
    remedy.needs_bytes = lowest->needs_bytes;
    remedy.about_as_fast = lowest->seconds <= allowed() ? lowest : about_as_fast(spaces, smallest);
    return true;
  }

 private:
  double allowed() const { return plan_.predicted_seconds * kAboutAsFast; }

  std::optional<LowerPlan> found_under(const Spaces& spaces, int64_t limit_bytes) const {
    Problem problem = candidate_.problem;
    problem.options.limit_bytes = limit_bytes;
    const ConfigurationSearch found = fastest_over(spaces, problem.request, limit_bytes);
    if (!found.best) return std::nullopt;
    LowerPlan lower{found.best->solution.peak_bytes, found.best->seconds, {}};
    if (candidate_.added && found.best->configuration.lower_tier)
      lower.needs_bytes =
          most_bytes_in(*candidate_.added, plan_of(problem, *found.best), problem.model.graph);
    return lower;
  }

  /// By bisection: under a smaller limit nothing is faster.
  std::optional<LowerPlan> about_as_fast(const Spaces& spaces, int64_t too_small) const {
    std::optional<LowerPlan> best;
    int64_t enough = plan_.predicted_peak_bytes;
    for (int i = 0; i < kLimitsTried && too_small + 1 < enough && go_on_(); ++i) {
      const auto limit = static_cast<int64_t>(std::sqrt(double(too_small)) * std::sqrt(double(enough)));
      const std::optional<LowerPlan> found = found_under(spaces, limit);
      if (found && found->seconds <= allowed()) {
        best = found;
        enough = found->peak_bytes;
      } else {
        too_small = limit;
      }
    }
    return best;
  }

  const RemedyCandidate& candidate_;
  const Plan& plan_;
  const std::function<bool()>& go_on_;
};

}  // namespace

LowerPeak what_would_lower(const Problem& problem, const Plan& plan, const std::function<bool()>& go_on) {
  LowerPeak lower;
  std::vector<RemedyCandidate> candidates{{{"", "nothing but a smaller limit"}, problem}};
  for (RemedyCandidate& candidate : remedy_candidates(problem)) candidates.push_back(std::move(candidate));
  for (const RemedyCandidate& candidate : candidates) {
    // As many bytes as bf16, which stands before it.
    if (candidate.problem.request.dtype == Dtype::fp16 && problem.request.dtype != Dtype::fp16) continue;
    Remedy remedy = candidate.remedy;
    if (!LowerSearch(candidate, plan, go_on).run(remedy)) {
      lower.not_looked_at.push_back(remedy.option.empty() ? "--limit" : remedy.option);
    } else if (*remedy.smallest_limit_bytes < plan.predicted_peak_bytes) {
      lower.remedies.push_back(std::move(remedy));
    }
  }
  const auto own = std::find_if(lower.remedies.begin(), lower.remedies.end(),
                                [](const Remedy& remedy) { return !remedy.option.empty(); });
  std::stable_sort(own, lower.remedies.end(), [](const Remedy& a, const Remedy& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  return lower;
}

std::function<bool()> for_seconds(double seconds) {
  const auto spent = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
  };
  const double until = spent() + seconds;
  return [spent, until] { return spent() < until; };
}

}  // namespace headroom::planner
