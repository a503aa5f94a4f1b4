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
  const Spaces spaces = spaces_of(candidate.problem);
  const ConfigurationSearch found =
      fastest_over(spaces, candidate.problem.request, candidate.problem.options.limit_bytes);
  if (!found.best) {
    remedy.smallest_limit_bytes = smallest_over(spaces).smallest.bytes;
    return remedy;
  }
  remedy.seconds = found.best->seconds;
  if (candidate.added) {
    remedy.needs_bytes = most_bytes_in(*candidate.added, plan_of(candidate.problem, *found.best),
                                       candidate.problem.model.graph);
  }
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
