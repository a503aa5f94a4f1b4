#include "planner/search/make_plan.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/storage.h"
#include "decoder/validator/validator.h"
#include "planner/cost/exchange_costs.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

/// Most searches for a plan that fits every rank, with halo rows of other ranks and gaps. One or two usually
/// suffice.
constexpr int kMostSearches = 8;

/// Seconds that one rank takes to compute a pass and load its parameters, for one micro-batch.
double own_seconds(const Problem& problem, const Plan& plan, const Pass& pass, const Extent& tile) {
  const CostModel& costs = problem.costs;
  const Graph& graph = problem.model.graph;
  const Sizes sizes = sizes_of(graph, plan);
  if (own_rows(sizes, 1).length() == 0) return 0;
  const auto brought = [&](const ConvolutionAlgorithms& algorithms, WeightResidency residency) {
    return pass_weights_bytes(graph, pass, algorithms, residency, sizes.storage());
  };
  double seconds = costs.pass_seconds(pass, tile, sizes);
  if (pass.convolutions.algorithm != ConvolutionAlgorithm::direct)
    seconds += costs.transform_seconds(brought(pass.convolutions, WeightResidency::resident));
  if (plan.weights == WeightResidency::per_pass)
    seconds += costs.weights_seconds(brought(ConvolutionAlgorithm::direct, WeightResidency::per_pass));
  return seconds;
}

/// Sets the seconds and limits of one rank's plan. On CUDA the limit grows if the gaps do not fit.
void finish_rank(Plan& plan, const Problem& problem, const ConfigurationSearch::Best& best, int64_t limit) {
  const double micro_batches = double(plan.request.batch) / double(plan.micro_batch);
  plan.limit_bytes = limit;
  plan.assumed = problem.costs.assumed();
  plan.environment = problem.costs.environment();
  plan.engines = problem.costs.engines();
  const Sizes sizes = sizes_of(problem.model.graph, plan);
  plan.predicted_seconds = best.start_seconds;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    const Extent& tile = best.solution.decisions[i].tile;
    pass.predicted_seconds = own_seconds(problem, plan, pass, tile) * micro_batches;
    const bool idle = own_rows(sizes, 1).length() == 0;
    pass.predicted_flops = idle ? 0 : pass_flops(problem.model.graph, pass, tile, sizes) * micro_batches;
    plan.predicted_seconds += pass.predicted_seconds;
  }
  add_gaps(plan, problem.model, problem.costs.reservation());
  plan.limit_bytes = std::max(plan.limit_bytes, plan.predicted_peak_bytes);
}

Plans plans_of(const Problem& problem, const ConfigurationSearch::Best& best,
               const std::vector<int64_t>& limits) {
  const Configuration& configuration = best.configuration;
  Plans plan = build_plans(problem.model, problem.request,
                           {.micro_batch = configuration.micro_batch, .weights = configuration.weights},
                           best.solution.decisions, problem.costs.memory(), problem.ranks.count);
  plan.link = problem.ranks.link;
  for (size_t rank = 0; rank < plan.plans.size(); ++rank)
    finish_rank(plan.plans[rank], problem, best, limits[rank]);
  plan.predicted_seconds = best.start_seconds + exchanged_seconds(problem.model.graph, plan);
  const std::vector<Violation> violations = validate(plan, problem.model);
  if (!violations.empty())
    throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  return plan;
}

/// Largest number of bytes by which a rank exceeds its limit. 0 if all fit.
int64_t excess_of(const Plans& plan, const std::vector<int64_t>& limits) {
  int64_t excess = 0;
  for (size_t rank = 0; rank < limits.size(); ++rank)
    excess = std::max(excess, plan.plans[rank].limit_bytes - limits[rank]);
  return excess;
}

Plans smallest_of(const Problem& problem, const Spaces& spaces, const std::vector<int64_t>& limits) {
  const int64_t limit = smallest_over(spaces).smallest.bytes;
  return plans_of(problem, fastest_over(spaces, problem.request, limit).best.value(), limits);
}

Plans of_one_rank(const Problem& problem, Plan plan) {
  plan.share.latent_rows = {0, sizes_of(problem.model.graph, plan).latent.y};
  Plans ranked{problem.request, problem.ranks.link, {}, {}, {{}}, plan.predicted_seconds};
  ranked.plans.push_back(std::move(plan));
  return ranked;
}

}  // namespace

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

std::optional<Plans> make_plans(const Problem& asked, const Ranks& ranks,
                                const std::vector<int64_t>& limits) {
  Problem problem = asked;
  problem.ranks = ranks;
  problem.options.limit_bytes = *std::min_element(limits.begin(), limits.end());
  if (ranks.alone()) {
    std::optional<Plan> plan = make_plan(problem);
    if (!plan) return {};
    return of_one_rank(problem, std::move(*plan));
  }
  const Deadline deadline = deadline_of(problem.options);
  const Spaces spaces = spaces_of(problem);
  int64_t limit = usable_limit_bytes(problem);
  for (int search = 0; search < kMostSearches; ++search) {
    const ConfigurationSearch found = fastest_over(spaces, problem.request, limit, {.deadline = deadline});
    if (!found.best && !found.in_time && search == 0) throw NoPlanInTime(problem, found.bound_seconds);
    if (!found.best) break;
    Plans plan = plans_of(problem, *found.best, limits);
    const int64_t excess = excess_of(plan, limits);
    if (excess == 0) return plan;
    limit = std::min(limit, found.best->solution.peak_bytes) - excess;
  }
  Plans plan = smallest_of(problem, spaces, limits);
  if (excess_of(plan, limits) > 0) return {};
  return plan;
}

Plans smallest_plans(const Problem& asked, const Ranks& ranks) {
  Problem problem = asked;
  problem.ranks = ranks;
  const Spaces spaces = spaces_of(problem);
  if (ranks.alone()) return of_one_rank(problem, smallest_plan(problem, spaces));
  const std::vector<int64_t> none(static_cast<size_t>(ranks.count), 0);
  return smallest_of(problem, spaces, none);
}

}  // namespace headroom::planner
