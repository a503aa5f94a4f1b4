#include "planner/search/make_plan.h"

#include "decoder/base/amounts.h"

namespace headroom::planner {
Deadline deadline_of(const PlanOptions& options) {
  if (!options.time_budget_seconds) return {};
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(*options.time_budget_seconds));
}

NoPlanInTime::NoPlanInTime(const Problem& problem, double bound)
    : DoesNotFit("--time-budget: " + format_seconds(problem.options.time_budget_seconds.value_or(0)) +
                     " ended before any plan was found within " + format_bytes(problem.options.limit_bytes) +
                     "; none takes less than " + format_seconds(bound) + "; allow more time",
                 0),
      bound_seconds(bound) {}

std::optional<Plan> make_plan(const Problem& problem) {
  const Deadline deadline = deadline_of(problem.options);
  const Spaces spaces = spaces_of(problem);
  const int64_t limit_bytes = usable_limit_bytes(problem);
  const ConfigurationSearch found =
      fastest_over(spaces, problem.request, limit_bytes, {.deadline = deadline});
  if (!found.best && !found.in_time) throw NoPlanInTime(problem, found.bound_seconds);
  if (!found.best) return std::nullopt;
  return finish_plan(problem, spaces, found, {deadline});
}

}  // namespace headroom::planner
