#include "planner/explain/remedy.h"

#include <algorithm>
#include <limits>

#include "planner/explain/explain.h"
#include "planner/explain/remedy_candidates.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

Remedy under_limit(const RemedyCandidate& candidate) {
  Remedy remedy = candidate.remedy;
  const Problem& problem = candidate.problem;
  const Spaces spaces = spaces_of(problem);
  const ConfigurationSearch found = fastest_over(spaces, problem.request, problem.options.limit_bytes);
  const std::optional<Plan> plan = found.best ? finish_plan(problem, spaces, found) : std::nullopt;
  if (!plan) {
    remedy.smallest_limit_bytes = smallest_plan(problem, spaces).limit_bytes;
    return remedy;
  }
  remedy.seconds = plan->predicted_seconds;
  if (candidate.added) remedy.needs_bytes = most_bytes_in(*candidate.added, *plan, problem.model.graph);
  return remedy;
}

}  // namespace

std::vector<Remedy> remedies_under_limit(const Problem& problem, int64_t smallest_limit_bytes) {
  std::vector<Remedy> list;
  for (const RemedyCandidate& candidate : remedy_candidates(problem)) list.push_back(under_limit(candidate));
  std::erase_if(list, [&](const Remedy& remedy) {
    return !remedy.seconds && *remedy.smallest_limit_bytes >= smallest_limit_bytes;
  });
  std::stable_sort(list.begin(), list.end(), [](const Remedy& a, const Remedy& b) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
  });
  return list;
}

}  // namespace headroom::planner
