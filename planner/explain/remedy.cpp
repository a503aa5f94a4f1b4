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

Remedy at_smallest_limit(const RemedyCandidate& candidate) {
  Remedy remedy = candidate.remedy;
  const Spaces spaces = spaces_of(candidate.problem);
  const int64_t limit = smallest_over(spaces).smallest.bytes;
  remedy.smallest_limit_bytes = limit;
  remedy.seconds = fastest_over(spaces, candidate.problem.request, limit).best.value().seconds;
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

std::vector<Remedy> remedies_at_smallest_limits(const Problem& problem, const std::function<bool()>& go_on) {
  std::vector<Remedy> list;
  if (!go_on()) return list;
  list.push_back(at_smallest_limit({{"", "nothing but a smaller limit"}, problem}));
  const auto as_it_is = list.front().smallest_limit_bytes;
  for (const RemedyCandidate& candidate : remedy_candidates(problem)) {
    if (!go_on()) break;
    Remedy remedy = at_smallest_limit(candidate);
    if (remedy.smallest_limit_bytes < as_it_is) list.push_back(std::move(remedy));
  }
  std::stable_sort(list.begin() + 1, list.end(), [](const Remedy& a, const Remedy& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  return list;
}

}  // namespace headroom::planner
