#include "planner/search/finish_plan.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>

#include "decoder/gpu/dry_run.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "decoder/validator/validator.h"
#include "planner/cost/seconds_range.h"
#include "planner/search/thrift.h"

namespace headroom::planner {

std::vector<PlacedPass> add_gaps(Plan& plan, const Model& model, const ReservationSizes& sizes) {
  if (!device_record(plan.request.device).places_allocations) return {};
  const int64_t beside = bytes_beside_reservation(model.graph, plan.request);
  const DryRun dry_run = run_dry_within(model, plan, sizes.most_within(plan.limit_bytes - beside));
  const int64_t live_bytes = plan.predicted_peak_bytes - beside;
  const int64_t gaps = sizes.taken_bytes(std::max(dry_run.bytes(), live_bytes)) - live_bytes;
  plan.reserve_bytes += gaps;
  plan.predicted_peak_bytes += gaps;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes += gaps;
  plan.limit_bytes = std::max(plan.limit_bytes, plan.predicted_peak_bytes);
  plan.host_limit_bytes = std::max(plan.host_limit_bytes, dry_run.host.bytes);
  // Kept tensors have priority in host memory. Weights stay there only if all of them fit the rest of the
  // host limit, or if there is no limit.
  const int64_t weights = plan.weights == WeightResidency::per_pass
                              ? resident_weights_bytes(model.graph, storage_of(plan.request))
                              : 0;
  if (plan.host_limit_bytes == 0 || dry_run.host.bytes + weights <= plan.host_limit_bytes)
    plan.host_weights_bytes = weights;
  const std::vector<int64_t> reserved = dry_run.bytes_by_pass();
  const std::vector<std::vector<Copy>> copies = dry_run.copies_by_pass();
  std::vector<PlacedPass> passes;
  for (size_t i = 0; i < reserved.size(); ++i) {
    PlacedPass& pass = passes.emplace_back(PlacedPass{beside + reserved[i], {}});
    for (const Copy& copy : copies[i]) pass.copied_bytes.push_back(copy.bytes);
  }
  return passes;
}

std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes) {
  std::vector<size_t> beyond, crowded;
  for (size_t pass = 0; pass < placed.live.size(); ++pass) {
    const int64_t over = placed.reserved[pass] - limit_bytes;
    if (over <= 0) continue;
    beyond.push_back(pass);
    // A pass with much free memory does not cause the overrun.
    if (limit_bytes - placed.live[pass] <= over) crowded.push_back(pass);
  }
  if (!crowded.empty() || beyond.empty()) return crowded;
  return {*std::max_element(beyond.begin(), beyond.end(),
                            [&](size_t a, size_t b) { return placed.live[a] < placed.live[b]; })};
}

HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share) {
  for (const size_t pass : passes) {
    const auto less = static_cast<int64_t>(double(placed.reserved[pass] - limit_bytes) * share);
    held_back[pass] = std::max(held_back[pass], limit_bytes - placed.live[pass] + std::max<int64_t>(1, less));
  }
  return held_back;
}

namespace {

/// Most plans that one RoomSearch places before it gives up on following crowded passes.
constexpr size_t kMostPlaced = 6;
/// Bisection steps between the fewest live bytes and the limit, if no placed plan had room.
constexpr int kMostHalvings = 4;
/// Stop improving a plan that is within this share of the bound, or within the request's thrift.
constexpr double kNearEnough = 1e-3;
/// Most plans of other limits that are placed after that.
constexpr int kMostOtherLimits = 8;

/// False if the gaps raised a limit above the allowed one.
bool fits(const Plan& plan, const PlanOptions& options) {
  return plan.limit_bytes <= options.limit_bytes && plan.host_limit_bytes <= options.host_limit_bytes;
}

void set_limits(Plan& plan, const PlanOptions& options, const Configuration& configuration) {
  plan.limit_bytes = options.limit_bytes;
  if (configuration.lower_tier == MemoryTier::host) plan.host_limit_bytes = configuration.lower_limit_bytes;
  const bool uses_scratch = std::any_of(plan.kept.begin(), plan.kept.end(),
                                        [](const KeptTensor& k) { return k.tier == MemoryTier::scratch; });
  if (!uses_scratch) return;
  plan.scratch_folder = options.scratch_folder;
  plan.scratch_limit_bytes = configuration.lower_limit_bytes;
}

struct PlacedPlan {
  Plan plan;
  PlacedBytes bytes;
};

PlacedPlan placed(const Problem& problem, const ConfigurationSearch::Best& best);

/// Looks for the fastest plan with room for its gaps, in four stages:
/// 1. dive() lowers the limit of all crowded passes until some plan has room. Slower plans need not be
/// placed.
/// 2. follow() lowers the limit of one crowded pass at a time. run() places the resulting plans, fastest
/// first.
/// 3. If no plan has room, halve() lowers the limit of all passes.
/// 4. If gaps or copies cost too much time, climb() and descend() place the fastest plans of other limits.
class RoomSearch {
 public:
  RoomSearch(const Problem& problem, const Spaces& spaces, Deadline deadline)
      : problem_(problem), within_(problem), spaces_(&spaces), deadline_(deadline) {}

  /// `fastest` is the best plan by live bytes alone. No plan is faster than `bound_seconds`. Returns nothing
  /// if no placed plan had room.
  std::optional<Plan> run(const ConfigurationSearch::Best& fastest, double bound_seconds) {
    enough_seconds_ = bound_seconds * (1 + std::max(kNearEnough, problem_.options.thrift));
    HeldBack held_back((*spaces_).front()->passes(), 0);
    const Tried& first = tried(fastest);
    dive(first, held_back);
    follow(first, held_back);
    while (!next_.empty() && goes_on()) {
      const auto soonest = std::min_element(next_.begin(), next_.end(), [](const Next& a, const Next& b) {
        return a.best.seconds < b.best.seconds;
      });
      const Next next = std::move(*soonest);
      next_.erase(soonest);
      if (best_ && next.best.seconds >= best_->predicted_seconds) break;
      const Tried& plan = tried(next.best);
      if (!plan.has_room) follow(plan, next.held_back);
    }
    if (!best_) halve();
    // Without costs of gaps and copies no other limit gives a better plan.
    if (best_ && best_->predicted_seconds <= fastest.seconds * (1 + 1e-9)) return best_;
    climb(fastest.solution.peak_bytes);
    descend();
    return best_;
  }
  /// Spaces of the last search. They have less host memory if a plan's gaps took more than allowed.
  const Spaces& spaces() const { return *spaces_; }

 private:
  struct Tried {
    ConfigurationSearch::Best best;
    PlacedBytes bytes;
    bool has_room = false;
  };
  struct Next {
    ConfigurationSearch::Best best;
    HeldBack held_back;
  };

  bool late() const { return deadline_ && std::chrono::steady_clock::now() > *deadline_; }

  bool goes_on() const { return tried_.size() < kMostPlaced && may_improve(); }

  /// Places the plan, if the same one was not placed before.
  const Tried& tried(const ConfigurationSearch::Best& best) {
    const auto known = std::find_if(tried_.begin(), tried_.end(), [&](const Tried& other) {
      const Configuration &a = other.best.configuration, &b = best.configuration;
      return a.micro_batch == b.micro_batch && a.weights == b.weights &&
             other.best.solution.decisions == best.solution.decisions;
    });
    if (known != tried_.end()) return *known;
    PlacedPlan placed_plan = placed(problem_, best);
    const Plan& plan = placed_plan.plan;
    const PlanOptions& options = problem_.options;
    const bool has_room = fits(plan, options);
    if (has_room && (!best_ || plan.predicted_seconds < best_->predicted_seconds)) best_ = plan;
    if (plan.host_limit_bytes > options.host_limit_bytes) {
      within_.options.host_limit_bytes -= plan.host_limit_bytes - options.host_limit_bytes;
      own_spaces_ = spaces_of(within_, *spaces_);
      spaces_ = &own_spaces_;
    }
    return tried_.emplace_back(Tried{best, std::move(placed_plan.bytes), has_room});
  }

  std::optional<ConfigurationSearch::Best> search(const HeldBack& held_back) const {
    return fastest_over(*spaces_, problem_.request, limit(),
                        {.deadline = deadline_, .held_back_bytes = held_back})
        .best;
  }

  void dive(const Tried& first, HeldBack held_back) {
    const Tried* last = &first;
    for (int depth = 0; !last->has_room && goes_on(); ++depth) {
      held_back = narrowed(std::move(held_back), crowded_passes(last->bytes, limit()), last->bytes, limit(),
                           depth < 2 ? 0.5 : 1);
      const std::optional<ConfigurationSearch::Best> found = search(held_back);
      if (!found) return;
      last = &tried(*found);
    }
  }

  /// Bisects the live bytes that all passes may use, between the fewest possible (slowest plan) and the
  /// limit. The remainder must be enough for the gaps. Finally tries the fewest.
  void halve() {
    const int64_t fewest = smallest_over(*spaces_).smallest.bytes;
    int64_t enough = fewest, too_much = limit();
    for (int i = 0; i < kMostHalvings && enough < too_much && !late(); ++i) {
      const int64_t live_bytes = enough + (too_much - enough) / 2;
      const auto found = search(HeldBack((*spaces_).front()->passes(), limit() - live_bytes));
      if (!found) return;
      const Tried& plan = tried(*found);
      if (plan.has_room)
        enough = live_bytes;
      else
        too_much = found->solution.peak_bytes;
    }
    if (best_ || late()) return;
    const auto smallest = fastest_over(*spaces_, problem_.request, fewest, {.deadline = deadline_}).best;
    if (smallest) tried(*smallest);
  }

  void follow(const Tried& plan, const HeldBack& held_back) {
    const std::vector<size_t> crowded = crowded_passes(plan.bytes, limit());
    for (const size_t pass : crowded) {
      if (!goes_on()) return;
      HeldBack less = narrowed(held_back, {pass}, plan.bytes, limit(), 0.5);
      if (auto found = search(less)) next_.push_back({std::move(*found), std::move(less)});
    }
  }

  bool may_improve() const { return !near_enough() && !late(); }
  bool near_enough() const { return best_ && best_->predicted_seconds <= enough_seconds_; }

  /// Returns the live bytes of the plan. Empty if no plan under this limit is faster than the best one.
  std::optional<int64_t> place_fastest_within(int64_t limit_bytes) {
    const double cutoff = best_ ? best_->predicted_seconds : std::numeric_limits<double>::infinity();
    const auto found = fastest_over(*spaces_, problem_.request, limit_bytes,
                                    {.deadline = deadline_, .cutoff_seconds = cutoff})
                           .best;
    if (!found) return std::nullopt;
    tried(*found);
    return found->solution.peak_bytes;
  }

  /// Places plans with more live bytes than a thrifty one, up to the limit.
  void climb(int64_t live_bytes) {
    const int first = limit_step_of(live_bytes);
    for (int i = 0; i < kMostOtherLimits && may_improve(); ++i) {
      const int64_t limit_bytes = limit_at(first + (1 << i));
      if (limit_bytes >= limit()) break;
      place_fastest_within(limit_bytes);
    }
    if (may_improve() && live_bytes < limit()) place_fastest_within(limit());
  }

  /// Places plans with fewer and fewer live bytes, because a plan that fits a smaller limit fits this one.
  void descend() {
    int64_t limit_bytes = limit_at(limit_step_of(limit()));
    for (int i = 0; i < kMostOtherLimits && may_improve(); ++i) {
      const std::optional<int64_t> live_bytes = place_fastest_within(limit_bytes);
      if (!live_bytes) return;
      limit_bytes = limit_at(limit_step_of(*live_bytes - 1));
    }
  }

  int64_t limit() const { return usable_limit_bytes(problem_); }

  const Problem& problem_;
  Problem within_;  ///< with a smaller host limit, once a plan's gaps exceeded it
  const Spaces* spaces_;
  Spaces own_spaces_;
  const Deadline deadline_;
  double enough_seconds_ = 0;
  std::deque<Tried> tried_;  ///< a deque, since references to its elements must stay valid
  std::vector<Next> next_;
  std::optional<Plan> best_;
};

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
  plan.engines = problem.costs.engines();
  const auto micro_batches = double(problem.request.batch / configuration.micro_batch);
  const Sizes sizes = sizes_of(model.graph, plan);
  PlacedBytes& bytes = result.bytes;
  bytes.live.assign(solution.passes.back() + 1, 0);
  bytes.reserved = bytes.live;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    Pass& pass = plan.passes[i];
    pass.predicted_seconds = solution.pass_seconds[i] * micro_batches;
    pass.predicted_flops = pass_flops(model.graph, pass, cut_tile(model.graph, pass), sizes) * micro_batches;
    bytes.live[solution.passes[i]] = pass.predicted_peak_bytes;
  }
  const std::vector<PlacedPass> passes = add_gaps(plan, model, problem.costs.reservation());
  for (size_t i = 0; i < passes.size(); ++i) {
    bytes.reserved[solution.passes[i]] = passes[i].reserved_bytes;
    plan.passes[i].predicted_seconds += problem.costs.copies_seconds(passes[i].copied_bytes) * micro_batches;
  }
  for (const Pass& pass : plan.passes) plan.predicted_seconds += pass.predicted_seconds;
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty())
    throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  plan.predicted_seconds += best.start_seconds;
  set_seconds_range(plan, model.graph, problem.costs);
  return result;
}

}  // namespace

Plan plan_of(const Problem& problem, const ConfigurationSearch::Best& best) {
  return placed(problem, best).plan;
}

Needed needed_by(const Problem& problem, const ConfigurationSearch::Best& best) {
  const int64_t live_bytes = best.solution.peak_bytes;
  if (!device_record(problem.request.device).places_allocations) return {live_bytes, best.seconds};
  Problem within = problem;
  within.options.limit_bytes = taken_bytes(problem, live_bytes);
  const Plan plan = plan_of(within, best);
  return {plan.limit_bytes, plan.predicted_seconds};
}

namespace {

/// The plan's limit is its own peak. If its gaps fit within `enough_bytes`, smaller gaps are not looked for.
Plan plan_within(const Problem& problem, const ConfigurationSearch::Best& best, int64_t enough_bytes) {
  Problem least = problem;
  least.options.limit_bytes = taken_bytes(problem, enough_bytes);
  Plan plan = plan_of(least, best);
  plan.limit_bytes = plan.predicted_peak_bytes;
  return plan;
}

}  // namespace

Plan smallest_plan(const Problem& problem, const Spaces& spaces) {
  const int64_t live_bytes = smallest_over(spaces).smallest.bytes;
  Plan plan =
      plan_within(problem, fastest_over(spaces, problem.request, live_bytes).best.value(), live_bytes);
  correct_seconds(plan, problem.costs.learnt());
  return plan;
}

Plan quick_smallest_plan(const Problem& problem, const Spaces& spaces) {
  const int64_t live_bytes = smallest_over(spaces).smallest.bytes;
  return plan_within(problem, some_over(spaces, problem.request, live_bytes).value(), live_bytes);
}

int64_t small_limit_bytes(const Problem& problem, const Spaces& spaces) {
  constexpr int64_t kFairShare = 50;
  const int64_t live_bytes = smallest_over(spaces).smallest.bytes;
  if (!device_record(problem.request.device).places_allocations) return live_bytes;
  const int64_t enough_bytes = live_bytes + live_bytes / kFairShare;
  return plan_within(problem, some_over(spaces, problem.request, live_bytes).value(), enough_bytes)
      .limit_bytes;
}

std::optional<Plan> finish_plan(const Problem& problem, const Spaces& spaces,
                                const ConfigurationSearch& found, const GapSearch& gaps) {
  RoomSearch search(problem, spaces, gaps.deadline);
  const ConfigurationSearch::Best thrifty =
      thrifty_over(spaces, problem.request, found.best.value(), problem.options.thrift, gaps.deadline);
  std::optional<Plan> room = search.run(thrifty, found.bound_seconds);
  if (!room && gaps.tries_smallest) {
    room = quick_smallest_plan(problem, search.spaces());
    room->limit_bytes = std::max(room->limit_bytes, problem.options.limit_bytes);
  }
  if (!room || !fits(*room, problem.options)) return std::nullopt;
  Plan& plan = *room;
  if (plan.host_limit_bytes > 0) plan.host_limit_bytes = problem.options.host_limit_bytes;
  plan.bound_seconds = std::min(found.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  correct_seconds(plan, problem.costs.learnt());
  return plan;
}

}  // namespace headroom::planner
