#include "planner/search/make_plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "decoder/graph/errors.h"
#include "decoder/validator/validator.h"
#include "planner/search/add_gaps.h"
#include "planner/search/why_not.h"

namespace headroom::planner {
namespace {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

Deadline deadline_of(const PlanOptions& options) {
  if (!options.time_budget_seconds) return {};
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(*options.time_budget_seconds));
}

/// Searches for a plan with room for its gaps. One or two do, mostly.
constexpr int kMostRounds = 8;

/// Weights that stay are part of its time.
Plan plan_of_best(const ConfigurationSearch::Best& best, const Model& model, const Request& request,
                  const PlanOptions& options, const CostModel& costs) {
  Plan plan = plan_of(best.solution, model, request, best.frame, options, costs);
  plan.predicted_seconds += best.start_seconds;
  return plan;
}

}  // namespace

Plan plan_of(const Solution& solution, const Model& model, const Request& request, const Configuration& frame,
             const PlanOptions& options, const CostModel& costs) {
  const PlanConfiguration plan_frame{frame.micro_batch, frame.weights,
                                     frame.lower_tier.value_or(MemoryTier::scratch)};
  Plan plan = build_plan(model, request, plan_frame, solution.decisions, costs.memory());
  plan.limit_bytes = options.limit_bytes;
  if (frame.lower_tier == MemoryTier::host) plan.host_limit_bytes = frame.lower_limit_bytes;
  const bool uses_scratch = std::any_of(plan.materialised.begin(), plan.materialised.end(),
                                        [](const Materialised& k) { return k.tier == MemoryTier::scratch; });
  if (uses_scratch) {
    plan.scratch_folder = options.scratch_folder;
    plan.scratch_limit_bytes = frame.lower_limit_bytes;
  }
  plan.exact = true;
  plan.assumed = costs.assumed();
  plan.environment = costs.environment();
  const auto micro_batches = double(request.batch / frame.micro_batch);
  const Sizes sizes = sizes_of(model.graph, plan);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    pass.predicted_seconds = solution.pass_seconds[i] * micro_batches;
    pass.predicted_flops = pass_flops(model.graph, pass, solution.decisions[i].tile, sizes) * micro_batches;
    plan.predicted_seconds += pass.predicted_seconds;
  }
  add_gaps(plan, model);
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty())
    throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  return plan;
}

Plan smallest_plan(const Spaces& spaces, const Model& model, const Request& request,
                   const PlanOptions& options, const CostModel& costs) {
  PlanOptions least = options;
  least.limit_bytes = smallest_over(spaces).smallest.bytes;
  return plan_of_best(fastest_over(spaces, request, least.limit_bytes).best.value(), model, request, least,
                      costs);
}

Plan make_plan(const Model& model, const Request& request, const PlanOptions& options,
               const CostModel& costs) {
  const Deadline deadline = deadline_of(options);
  Spaces spaces = spaces_of(model, request, options, costs);
  const ConfigurationSearch first = fastest_over(spaces, request, options.limit_bytes, deadline);
  if (!first.best) {
    if (!first.in_time) throw InputError("--time-budget: ended before any plan was found; allow more time");
    throw NothingFits(why_not(model, request, options, costs), request);
  }
  const auto fits = [&](Plan& plan) {
    if (plan.limit_bytes > options.limit_bytes || plan.host_limit_bytes > options.host_limit_bytes)
      return false;
    if (plan.host_limit_bytes > 0) plan.host_limit_bytes = options.host_limit_bytes;
    return true;
  };
  Plan plan = plan_of_best(*first.best, model, request, options, costs);
  // On CUDA there may be no room for the gaps beside what fits: then what is live must do with less, and at
  // last with the least possible.
  PlanOptions within = options;
  for (int round = 0; round < kMostRounds && !fits(plan); ++round) {
    if (plan.host_limit_bytes > options.host_limit_bytes) {
      within.host_limit_bytes -= plan.host_limit_bytes - options.host_limit_bytes;
      spaces = spaces_of(model, request, within, costs);
    }
    if (plan.limit_bytes > options.limit_bytes) {
      const int64_t live_bytes = plan.predicted_peak_bytes - plan.reserve_bytes;
      within.limit_bytes =
          std::min(within.limit_bytes, live_bytes) - (plan.limit_bytes - options.limit_bytes);
    }
    const ConfigurationSearch search = fastest_over(spaces, request, within.limit_bytes, deadline);
    if (!search.best) break;
    plan = plan_of_best(*search.best, model, request, options, costs);
  }
  if (!fits(plan)) {
    plan = smallest_plan(spaces, model, request, options, costs);
    plan.limit_bytes = std::max(plan.limit_bytes, options.limit_bytes);
    if (!fits(plan)) throw NothingFits(why_not(model, request, options, costs), request);
  }
  plan.bound_seconds = std::min(first.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  return plan;
}

}  // namespace headroom::planner
