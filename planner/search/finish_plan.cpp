#include "planner/search/finish_plan.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/lowering/build_plan.h"
#include "decoder/validator/validator.h"
#include "planner/search/add_gaps.h"
#include "planner/search/gap_room.h"

namespace headroom::planner {
namespace {

/// Searches for a plan with room for its gaps. A few do, mostly.
constexpr int kMostSearches = 10;
/// A plan that is slower than the bound by no more than this share is not made faster.
constexpr double kNearEnough = 1e-3;

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

struct PlacedPlan {
  Plan plan;
  PlacedBytes bytes;
};

PlacedPlan placed(const Problem& problem, const ConfigurationSearch::Best& best);

/// The fastest plan that was found with room for its gaps; the last one that was tried where none has it.
/// `tried` is the one that is fastest by what is live, `bound_seconds` what no plan is faster than.
Plan with_room(PlacedPlan tried, const Problem& problem, const Spaces& spaces, const GapSearch& gaps,
               double bound_seconds) {
  const PlanOptions& options = problem.options;
  Problem within = problem;  // tensors in host memory must do with less
  Spaces narrower;
  const Spaces* searched = &spaces;
  GapRoom room(spaces.front()->passes(), options.limit_bytes);
  std::optional<Plan> best;
  for (int search = 0; search < kMostSearches; ++search) {
    const bool has_room = fits(tried.plan, options);
    if (has_room && (!best || tried.plan.predicted_seconds < best->predicted_seconds)) best = tried.plan;
    if (best && best->predicted_seconds <= bound_seconds * (1 + kNearEnough)) break;
    if (search > 0 && gaps.deadline && std::chrono::steady_clock::now() > *gaps.deadline) break;
    if (tried.plan.host_limit_bytes > options.host_limit_bytes) {
      within.options.host_limit_bytes -= tried.plan.host_limit_bytes - options.host_limit_bytes;
      narrower = spaces_of(within);
      searched = &narrower;
    }
    if (!has_room) {
      room.narrow(tried.bytes);
    } else if (!room.widen()) {
      break;
    }
    const ConfigurationSearch found =
        fastest_over(*searched, problem.request, options.limit_bytes,
                     {.deadline = gaps.deadline, .held_back_bytes = room.held_back_bytes()});
    if (!found.best) break;
    tried = placed(problem, *found.best);
  }
  if (best) return *best;
  if (!gaps.tries_smallest) return tried.plan;
  Plan plan = smallest_plan(problem, *searched);
  plan.limit_bytes = std::max(plan.limit_bytes, options.limit_bytes);
  return plan;
}

PlacedPlan placed(const Problem& problem, const ConfigurationSearch::Best& best) {
  const Model& model = problem.model;
  const Configuration& configuration = best.configuration;
  const Solution& solution = best.solution;
  PlacedPlan result{build_plan(model, problem.request,
                               {configuration.micro_batch, configuration.weights,
                                configuration.lower_tier.value_or(MemoryTier::scratch)},
                               solution.decisions, problem.costs.memory()),
                    {}};
  Plan& plan = result.plan;
  set_limits(plan, problem.options, configuration);
  plan.exact = true;
  plan.assumed = problem.costs.assumed();
  plan.environment = problem.costs.environment();
  const auto micro_batches = double(problem.request.batch / configuration.micro_batch);
  const Sizes sizes = sizes_of(model.graph, plan);
  PlacedBytes& bytes = result.bytes;
  bytes.live.assign(solution.passes.back() + 1, 0);
  bytes.reserved = bytes.live;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    pass.predicted_seconds = solution.pass_seconds[i] * micro_batches;
    pass.predicted_flops = pass_flops(model.graph, pass, solution.decisions[i].tile, sizes) * micro_batches;
    plan.predicted_seconds += pass.predicted_seconds;
    bytes.live[solution.passes[i]] = pass.predicted_peak_bytes;
  }
  const std::vector<int64_t> reserved = add_gaps(plan, model);
  for (size_t i = 0; i < reserved.size(); ++i) bytes.reserved[solution.passes[i]] = reserved[i];
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty())
    throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  plan.predicted_seconds += best.start_seconds;
  return result;
}

}  // namespace

Plan plan_of(const Problem& problem, const ConfigurationSearch::Best& best) {
  return placed(problem, best).plan;
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
  Plan plan = with_room(placed(problem, found.best.value()), problem, spaces, gaps, found.bound_seconds);
  if (!fits(plan, problem.options)) return std::nullopt;
  if (plan.host_limit_bytes > 0) plan.host_limit_bytes = problem.options.host_limit_bytes;
  plan.bound_seconds = std::min(found.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  return plan;
}

}  // namespace headroom::planner
