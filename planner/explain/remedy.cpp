#include "planner/explain/remedy.h"

#include <algorithm>
#include <limits>

#include "planner/explain/explain.h"
#include "planner/explain/remedy_candidates.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

/// Returns nothing if time ran out.
std::optional<Remedy> under_limit(const RemedyCandidate& candidate, const Spaces& without,
                                  const std::function<bool()>& go_on) {
  if (!go_on()) return std::nullopt;
  Remedy remedy = candidate.remedy;
  const Problem& problem = candidate.problem;
  const Spaces spaces = spaces_of(problem, without);
  const ConfigurationSearch found = fastest_over(spaces, problem.request, usable_limit_bytes(problem));
  const std::optional<Plan> plan = found.best ? finish_plan(problem, spaces, found) : std::nullopt;
  if (!plan) {
    if (!go_on()) return std::nullopt;
    remedy.smallest_limit_bytes = small_limit_bytes(problem, spaces);
    return remedy;
  }
  remedy.seconds = plan->predicted_seconds;
  if (candidate.added) remedy.needs_bytes = most_bytes_in(*candidate.added, *plan, problem.model.graph);
  return remedy;
}

}  // namespace

RemediesFound remedies_under_limit(const Problem& problem, const Spaces& spaces, int64_t smallest_limit_bytes,
                                   const std::function<bool()>& go_on) {
  RemediesFound found;
  std::vector<Remedy>& list = found.remedies;
  std::optional<Remedy> in_bf16;
  for (const RemedyCandidate& candidate : remedy_candidates(problem)) {
    const Dtype dtype = candidate.problem.request.dtype;
    if (dtype == Dtype::fp16 && problem.request.dtype != dtype && in_bf16) {
      // With assumed costs, fp16 needs the same bytes and time as bf16.
      list.push_back(*in_bf16);
      list.back().option = candidate.remedy.option;
      list.back().meaning = candidate.remedy.meaning;
      continue;
    }
    std::optional<Remedy> remedy = under_limit(candidate, spaces, go_on);
    if (!remedy) {
      found.not_looked_at.push_back(candidate.remedy.option);
      continue;
    }
    if (dtype == Dtype::bf16 && problem.request.dtype != dtype) in_bf16 = remedy;
    list.push_back(*std::move(remedy));
  }
  std::erase_if(list, [&](const Remedy& remedy) {
    return !remedy.seconds && *remedy.smallest_limit_bytes >= smallest_limit_bytes;
  });
  std::stable_sort(list.begin(), list.end(), [](const Remedy& a, const Remedy& b) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
  });
  return found;
}

}  // namespace headroom::planner
