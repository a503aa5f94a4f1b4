#include "planner/make_plan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "decoder/graph/errors.h"
#include "decoder/plan/validator.h"
#include "planner/why_not.h"

namespace headroom {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<std::unique_ptr<PlanSpace>> spaces_of(const Model& model, const Request& request, const PlanOptions& options,
                                                  const CostModel& costs) {
  std::vector<int64_t> slices{request.batch};
  if (request.batch > 1) slices.push_back(1);
  std::vector<WeightResidency> residencies{WeightResidency::resident, WeightResidency::per_pass};
  if (options.weights) residencies = {*options.weights};
  std::vector<std::unique_ptr<PlanSpace>> spaces;
  for (int64_t slice : slices) {
    const auto catalog = std::make_shared<PassCatalog>(model, request, slice, costs);
    for (WeightResidency weights : residencies) {
      const auto add = [&](std::optional<Place> lower, int64_t limit) {
        spaces.push_back(std::make_unique<PlanSpace>(catalog, SpaceFrame{slice, weights, lower, limit}));
      };
      // A space with a lower place contains the one without.
      if (options.host_limit_bytes > 0) add(Place::host, options.host_limit_bytes);
      if (options.scratch_limit_bytes > 0) add(Place::scratch, options.scratch_limit_bytes);
      if (options.host_limit_bytes <= 0 && options.scratch_limit_bytes <= 0) add({}, 0);
    }
  }
  return spaces;
}

double batch_seconds(const Solution& solution, const Request& request, const PlanSpace& space) {
  const auto slices = double(request.batch / space.frame().slice);
  return space.start_seconds() + (solution.seconds - space.start_seconds()) * slices;
}

Plan plan_of(const Solution& solution, const Model& model, const Request& request, const SpaceFrame& frame,
             const PlanOptions& options, const CostModel& costs) {
  const PlanFrame plan_frame{frame.slice, frame.weights, frame.lower_place.value_or(Place::scratch)};
  Plan plan = build_plan(model, request, plan_frame, solution.decisions, costs.memory());
  plan.limit_bytes = options.limit_bytes;
  if (frame.lower_place == Place::host) plan.host_limit_bytes = frame.lower_limit_bytes;
  const bool uses_scratch = std::any_of(plan.kept.begin(), plan.kept.end(), [](const Kept& k) { return k.place == Place::scratch; });
  if (uses_scratch) {
    plan.scratch_folder = options.scratch_folder;
    plan.scratch_limit_bytes = frame.lower_limit_bytes;
  }
  plan.exact = true;
  plan.assumed = costs.assumed();
  const auto slices = double(request.batch / frame.slice);
  const Sizes sizes = sizes_of(model.graph, plan);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    pass.predicted_seconds = solution.pass_seconds[i] * slices;
    pass.predicted_flops = pass_flops(model.graph, pass, solution.decisions[i].tile, sizes) * slices;
    plan.predicted_seconds += pass.predicted_seconds;
  }
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty()) throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  return plan;
}

Plan make_plan(const Model& model, const Request& request, const PlanOptions& options, const CostModel& costs) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  if (options.time_budget_seconds) {
    deadline = std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(*options.time_budget_seconds));
  }
  std::optional<Solution> best;
  SpaceFrame best_frame;
  double best_seconds = 0, start_seconds = 0;
  double bound = kForever;
  bool in_time = true;
  for (const auto& shared : spaces_of(model, request, options, costs)) {
    PlanSpace& space = *shared;
    const SpaceFrame& frame = space.frame();
    const auto slices = double(request.batch / frame.slice);
    // Only what is faster than the best so far is of use.
    const double enough = best ? space.start_seconds() + (best_seconds - space.start_seconds()) / slices : kForever;
    std::optional<Solution> solution = fastest(space, options.limit_bytes, {deadline, enough});
    if (deadline && std::chrono::steady_clock::now() > *deadline) in_time = false;
    if (!solution) {
      if (!in_time) bound = 0;  // this space has not been searched to its end
      continue;  // nothing fits, or nothing faster
    }
    const double seconds = batch_seconds(*solution, request, space);
    bound = std::min(bound, space.start_seconds() + (solution->bound_seconds - space.start_seconds()) * slices);
    if (best && best_seconds <= seconds) continue;
    best = std::move(solution);
    best_frame = frame;
    best_seconds = seconds;
    start_seconds = space.start_seconds();
  }
  if (!best) {
    if (!in_time) throw InputError("--time-budget: ended before any plan was found; allow more time");
    throw_does_not_fit(model, request, options, costs);
  }
  Plan plan = plan_of(*best, model, request, best_frame, options, costs);
  plan.predicted_seconds += start_seconds;
  plan.bound_seconds = std::min(bound, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  return plan;
}

}  // namespace headroom
