#include "planner/search/make_plan.h"

#include "decoder/graph/errors.h"

namespace headroom::planner {

Deadline deadline_of(const PlanOptions& options) {
  if (!options.time_budget_seconds) return {};
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(*options.time_budget_seconds));
}

std::optional<Plan> make_plan(const Problem& problem) {
  const Deadline deadline = deadline_of(problem.options);
  const Spaces spaces = spaces_of(problem);
  const ConfigurationSearch found =
      fastest_over(spaces, problem.request, problem.options.limit_bytes, deadline);
  if (!found.best && !found.in_time)
    throw InputError("--time-budget: ended before any plan was found; allow more time");
  if (!found.best) return std::nullopt;
  return finish_plan(problem, spaces, found, {deadline});
}

}  // namespace headroom::planner
