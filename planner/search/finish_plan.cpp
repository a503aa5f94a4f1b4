#include "planner/search/finish_plan.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/lowering/build_plan.h"
#include "decoder/validator/validator.h"
#include "planner/cost/seconds_range.h"
#include "planner/search/add_gaps.h"

namespace headroom::planner {
namespace {

/// Searches for a plan with room for its gaps. One or two do, mostly.
constexpr int kMostRounds = 8;

/// False where the gaps have raised a limit above what is allowed.
bool fits(const Plan& plan, const PlanOptions& options) {
  return plan.limit_bytes <= options.limit_bytes && plan.host_limit_bytes <= options.host_limit_bytes;
}

void set_limits(Plan& plan, const PlanOptions& options, const Configuration& configuration) {
  plan.limit_bytes = options.limit_bytes;
  if (configuration.lower_tier == MemoryTier::host) plan.host_limit_bytes = configuration.lower_limit_bytes;
  const bool uses_scratch = std::any_of(plan.materialised.begin(), plan.materialised.end(),
                                        [](const Materialised& k) { return k.tier == MemoryTier::scratch; });
  if (!uses_scratch) return;
  plan.scratch_folder = options.scratch_folder;
  plan.scratch_limit_bytes = configuration.lower_limit_bytes;
}

/// A plan with room for its gaps that is slower than `plan`, which has none; the last one that was tried
/// where there is none.
Plan narrowed(Plan plan, const Problem& problem, const Spaces& spaces, const GapSearch& gaps) {
  const PlanOptions& options = problem.options;
  Problem within = problem;  // what is live must do with less
  Spaces narrower;
  const Spaces* searched = &spaces;
  for (int round = 0; round < kMostRounds && !fits(plan, options); ++round) {
    if (plan.host_limit_bytes > options.host_limit_bytes) {
      within.options.host_limit_bytes -= plan.host_limit_bytes - options.host_limit_bytes;
      narrower = spaces_of(within);
      searched = &narrower;
    }
    if (plan.limit_bytes > options.limit_bytes) {
      const int64_t live_bytes = plan.predicted_peak_bytes - plan.reserve_bytes;
      within.options.limit_bytes =
          std::min(within.options.limit_bytes, live_bytes) - (plan.limit_bytes - options.limit_bytes);
    }
    const ConfigurationSearch search =
        fastest_over(*searched, problem.request, within.options.limit_bytes, gaps.deadline);
    if (!search.best) break;
    plan = plan_of(problem, *search.best);
  }
  if (fits(plan, options) || !gaps.tries_smallest) return plan;
  plan = smallest_plan(problem, *searched);
  plan.limit_bytes = std::max(plan.limit_bytes, options.limit_bytes);
  return plan;
}

}  // namespace

Plan plan_of(const Problem& problem, const ConfigurationSearch::Best& best) {
  const Model& model = problem.model;
  const Configuration& configuration = best.configuration;
  const Solution& solution = best.solution;
  Plan plan = build_plan(model, problem.request,
                         {configuration.micro_batch, configuration.weights,
                          configuration.lower_tier.value_or(MemoryTier::scratch)},
                         solution.decisions, problem.costs.memory());
  set_limits(plan, problem.options, configuration);
  plan.exact = true;
  plan.assumed = problem.costs.assumed();
  plan.environment = problem.costs.environment();
  const auto micro_batches = double(problem.request.batch / configuration.micro_batch);
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
  plan.predicted_seconds += best.start_seconds;
  set_seconds_range(plan, model.graph, problem.costs);
  return plan;
}

int64_t needed_limit_bytes(const Problem& problem, const ConfigurationSearch::Best& best) {
  const int64_t live_bytes = best.solution.peak_bytes;
  if (problem.request.device != DeviceKind::cuda) return live_bytes;
  Problem within = problem;
  within.options.limit_bytes = live_bytes;
  return plan_of(within, best).limit_bytes;
}

Plan smallest_plan(const Problem& problem, const Spaces& spaces) {
  Problem least = problem;
  least.options.limit_bytes = smallest_over(spaces).smallest.bytes;
  return plan_of(least, fastest_over(spaces, problem.request, least.options.limit_bytes).best.value());
}

std::optional<Plan> finish_plan(const Problem& problem, const Spaces& spaces,
                                const ConfigurationSearch& found, const GapSearch& gaps) {
  Plan plan = narrowed(plan_of(problem, found.best.value()), problem, spaces, gaps);
  if (!fits(plan, problem.options)) return std::nullopt;
  if (plan.host_limit_bytes > 0) plan.host_limit_bytes = problem.options.host_limit_bytes;
  plan.bound_seconds = std::min(found.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  return plan;
}

}  // namespace headroom::planner
