#include "planner/make_plan.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/graph/errors.h"
#include "decoder/plan/validator.h"
#include "planner/why_not.h"

namespace headroom {
Plan plan_of(const Solution& solution, const Model& model, const Request& request, const SpaceFrame& frame,
             const PlanOptions& options, const CostModel& costs) {
  const PlanFrame plan_frame{frame.slice, frame.weights, frame.lower_place.value_or(Place::scratch)};
  Plan plan = build_plan(model, request, plan_frame, solution.decisions, costs.memory());
  plan.limit_bytes = options.limit_bytes;
  if (frame.lower_place == Place::host) plan.host_limit_bytes = frame.lower_limit_bytes;
  const bool uses_scratch = std::any_of(plan.kept.begin(), plan.kept.end(),
                                        [](const Kept& k) { return k.place == Place::scratch; });
  if (uses_scratch) {
    plan.scratch_folder = options.scratch_folder;
    plan.scratch_limit_bytes = frame.lower_limit_bytes;
  }
  plan.exact = true;
  plan.assumed = costs.assumed();
  plan.environment = costs.environment();
  const auto slices = double(request.batch / frame.slice);
  const Sizes sizes = sizes_of(model.graph, plan);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    pass.predicted_seconds = solution.pass_seconds[i] * slices;
    pass.predicted_flops = pass_flops(model.graph, pass, solution.decisions[i].tile, sizes) * slices;
    plan.predicted_seconds += pass.predicted_seconds;
  }
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty())
    throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  return plan;
}

Plan make_plan(const Model& model, const Request& request, const PlanOptions& options,
               const CostModel& costs) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (options.time_budget_seconds) {
    deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(*options.time_budget_seconds));
  }
  const FrameSearch search =
      fastest_over(spaces_of(model, request, options, costs), request, options.limit_bytes, deadline);
  if (!search.best) {
    if (!search.in_time) throw InputError("--time-budget: ended before any plan was found; allow more time");
    throw NothingFits(why_not(model, request, options, costs), request);
  }
  Plan plan = plan_of(search.best->solution, model, request, search.best->frame, options, costs);
  plan.predicted_seconds += search.best->start_seconds;
  plan.bound_seconds = std::min(search.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  return plan;
}

}  // namespace headroom
