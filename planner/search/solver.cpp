#include "planner/search/solver.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>

namespace headroom::planner {
namespace {

/// The cheapest known path to a state.
struct Arrival {
  double cost = std::numeric_limits<double>::infinity();
  State* state = nullptr;
  State* previous = nullptr;
  const Choice* choice = nullptr;
  const Shape* shape = nullptr;
  bool settled = false;
};

using Path = std::vector<Arrival>;

/// A choice from a reached state. Its cost is refined step by step.
struct Trial {
  State* from = nullptr;
  Choice* choice = nullptr;
  double from_cost = 0;
  double cost = 0;               ///< lower bound on the cost of the path including this choice
  bool exact = false;            ///< `cost` is exact
  bool begun = false;            ///< the lower bound on the choice itself is included in `cost`
  bool by_shape = false;         ///< the search now tries the choice's shapes, fastest first
  size_t shape = 0;              ///< index of the current shape
  const Shape* taken = nullptr;  ///< set once `exact`
};

struct Found {
  Path path;         ///< empty if none was found
  double bound = 0;  ///< no path costs less
  bool in_time = true;
};

/// Best-first search over states: A*, or weighted A* if `a_star_weight` is above 1.
///
/// `look_at(trial)` refines the cost of a choice until the cost is exact. It returns false if no shape fits
/// the limit. Computing the peak of a shape is slow, so `look_at` does little at first, and more only once
/// the path is the most promising one. `bound(state, again)` is a lower bound on the remaining cost. `again`
/// is the least time that later passes need to recompute tensors that the last choice did not keep.
///
/// The bound is consistent: along a choice it never falls by more than the choice costs. It counts an
/// operation in the first pass that could run it. If that pass does not run the operation, `again` counts it
/// until some pass runs it. So the first arrival at an expanded state is the cheapest one, and no state is
/// expanded twice. A weight above 1 overstates the bound. Such a search finds a path sooner and proves
/// nothing.
template <typename LookAt, typename Bound>
class Search {
 public:
  Search(PlanSpace& space, const LookAt& look_at, const Bound& bound, double a_star_weight,
         const SearchLimits& limits)
      : space_(space),
        look_at_(look_at),
        bound_(bound),
        a_star_weight_(a_star_weight),
        limits_(limits),
        arrivals_(space.passes() + 1) {}

  Found run(double start) {
    State& first = space_.start();
    at(first).cost = start;
    push({start + a_star_weight_ * bound_(first, 0), &first, {.cost = start}});
    Found found;
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      queue_.pop();
      if (is_outdated(entry)) continue;
      found.bound = std::max(found.bound, entry.estimate);
      if (a_star_weight_ <= 1 && entry.estimate >= limits_.cutoff_seconds) break;
      if (limits_.deadline && std::chrono::steady_clock::now() > *limits_.deadline) {
        found.in_time = false;
        break;
      }
      if (entry.trial.choice != nullptr) {
        go_on(entry.trial);
      } else if (entry.state->pass == space_.passes()) {
        found.path = path_to(*entry.state);
        break;
      } else {
        at(*entry.state).settled = true;
        expand(*entry.state, entry.trial.cost);
      }
    }
    return found;
  }

  /// Raises the lower bound of every expanded state: the least that any of its choices costs, plus the bound
  /// after that choice. For searches by time.
  void learn() {
    for (size_t pass = arrivals_.size(); pass-- > 0;) {
      for (const Arrival& arrival : arrivals_[pass]) {
        if (!arrival.settled || !arrival.state->choices) continue;
        double least = std::numeric_limits<double>::infinity();
        for (const Choice& choice : *arrival.state->choices)
          least = std::min(least, choice.learned_seconds + bound_(*choice.next, choice.recompute_seconds));
        // This sum rounds differently from the sum along a path.
        arrival.state->learned_seconds = std::max(arrival.state->learned_seconds, least * (1 - 1e-12));
      }
    }
  }

 private:
  /// A reached state, or a choice that leads to one.
  struct Entry {
    double estimate;
    State* state;
    Trial trial;
    bool operator<(const Entry& other) const {
      // Ties go to the deeper state, which is nearer the end.
      return estimate != other.estimate ? estimate > other.estimate : state->pass < other.state->pass;
    }
  };

  Arrival& at(State& state) {
    std::vector<Arrival>& of_pass = arrivals_[state.pass];
    if (of_pass.size() <= state.number) of_pass.resize(state.number + 1);
    of_pass[state.number].state = &state;
    return of_pass[state.number];
  }

  /// True if another path reaches the state at no higher cost.
  bool is_outdated(const Entry& entry) {
    const Arrival& arrival = at(*entry.state);
    if (entry.trial.choice == nullptr) return arrival.settled || entry.trial.cost > arrival.cost;
    return !is_of_use(entry.trial);
  }

  bool is_of_use(const Trial& trial) {
    const Arrival& next = at(*trial.choice->next);
    return trial.cost < next.cost && !next.settled;
  }

  void push(Entry entry) { queue_.push(std::move(entry)); }

  void expand(State& state, double cost) {
    for (Choice& choice : space_.choices(state))
      go_on({.from = &state, .choice = &choice, .from_cost = cost});
  }

  /// Refines the cost of the choice. Takes the choice once the cost is exact.
  void go_on(Trial trial) {
    if (!look_at_(trial) || !is_of_use(trial)) return;
    State& next = *trial.choice->next;
    const double estimate = trial.cost + a_star_weight_ * bound_(next, trial.choice->recompute_seconds);
    if (!trial.exact) {
      push({estimate, &next, trial});
      return;
    }
    const Choice& choice = *trial.choice;
    at(next) = {trial.cost, &next, trial.from, &choice, trial.taken};
    push({estimate, &next, {.cost = trial.cost}});
  }

  Path path_to(State& end) {
    Path path;
    for (State* state = &end; state != &space_.start(); state = path.back().previous)
      path.push_back(at(*state));
    std::reverse(path.begin(), path.end());
    return path;
  }

  PlanSpace& space_;
  const LookAt& look_at_;
  const Bound& bound_;
  const double a_star_weight_;
  const SearchLimits& limits_;
  std::vector<std::vector<Arrival>> arrivals_;  ///< by pass and number of the state
  std::priority_queue<Entry> queue_;
};

PassDecision decision_of(const Arrival& arrival) {
  const Choice& choice = *arrival.choice;
  PassDecision decision{.keeps = choice.set->keeps,
                        .in_place = choice.in_place,
                        .below = choice.below,
                        .at_cut_point = choice.set->at_cut_point};
  choice.shapes->decide(*arrival.shape, decision);
  return decision;
}

/// Finds the fastest shape of a choice under a limit, one shape at a time.
class LookAtTime {
 public:
  LookAtTime(PlanSpace& space, int64_t limit_bytes, const std::vector<int64_t>& held_back)
      : space_(space), limit_bytes_(limit_bytes), held_back_(held_back) {}

  bool operator()(Trial& trial) const {
    Choice& choice = *trial.choice;
    double seconds = choice.learned_seconds;
    if (trial.begun) seconds = std::max(seconds, seconds_of_next_shape(trial));
    trial.begun = true;
    if (held_back_.empty()) choice.learned_seconds = seconds;
    trial.cost = trial.from_cost + seconds;
    limit_was_binding_ = limit_was_binding_ || trial.shape > 0;
    return seconds < std::numeric_limits<double>::infinity();
  }

  /// True if the limit excluded the fastest shape of some choice.
  bool limit_was_binding() const { return limit_was_binding_ || space_.learned_limit_was_binding(); }

 private:
  /// Seconds of the fastest shape that may still fit, after one more shape is looked at. Infinite if none
  /// fits.
  double seconds_of_next_shape(Trial& trial) const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    Choice& choice = *trial.choice;
    space_.work_out(*trial.from, choice);
    const int64_t limit_bytes = limit_bytes_ - (held_back_.empty() ? 0 : held_back_[trial.from->pass]);
    const int64_t bytes = limit_bytes - choice.beside_bytes;
    TileChoice& shapes = *choice.shapes;
    if (!trial.by_shape) {
      // Pricing shapes is slow. Skip it for choices where no shape fits.
      if (!shapes.any_within(bytes)) {
        limit_was_binding_ = true;
        return kNone;
      }
      trial.shape = shapes.first_possible(0, bytes);
      trial.by_shape = true;
    } else if (!shapes.fits(trial.shape, bytes)) {
      trial.shape = shapes.first_possible(trial.shape, bytes);
    }
    if (trial.shape == shapes.size()) return kNone;
    trial.exact = shapes.known_to_fit(trial.shape, bytes);
    if (trial.exact) trial.taken = &shapes.shape(trial.shape);
    return choice.beside_seconds + shapes.seconds(trial.shape);
  }

  PlanSpace& space_;
  const int64_t limit_bytes_;
  const std::vector<int64_t>& held_back_;
  mutable bool limit_was_binding_ = false;
};

/// Sets `limit_was_binding` if the limit excludes the fastest shape of some choice.
Found search_by_time(PlanSpace& space, int64_t limit_bytes, double a_star_weight, const SearchLimits& limits,
                     bool& limit_was_binding) {
  space.begin_search(limit_bytes);
  const LookAtTime look_at(space, limit_bytes, limits.held_back_bytes);
  const auto bound = [&](const State& state, double again) {
    return std::max(space.least_seconds_from(state.pass) + again, state.learned_seconds);
  };
  Search search(space, look_at, bound, a_star_weight, limits);
  Found found = search.run(space.start_seconds());
  limit_was_binding = look_at.limit_was_binding();
  if (!limits.held_back_bytes.empty()) return found;
  search.learn();
  space.end_search(limit_bytes, limit_was_binding);
  return found;
}

Solution solution_of(const Found& found) {
  Solution solution;
  solution.seconds = found.path.back().cost;
  for (size_t pass = 0; pass < found.path.size(); ++pass) {
    const Arrival& arrival = found.path[pass];
    if (!arrival.choice->set->runs) continue;
    solution.decisions.push_back(decision_of(arrival));
    solution.passes.push_back(pass);
    solution.pass_seconds.push_back(arrival.choice->seconds(*arrival.shape));
    solution.peak_bytes = std::max(solution.peak_bytes, arrival.choice->peak_bytes(*arrival.shape));
  }
  return solution;
}

}  // namespace

SpaceSearch fastest(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits) {
  bool limit_was_binding = false;
  const Found found = search_by_time(space, limit_bytes, 1, limits, limit_was_binding);
  SpaceSearch done{std::nullopt, found.bound, found.in_time};
  if (found.path.empty()) return done;
  done.solution = solution_of(found);
  done.solution->limit_was_binding = limit_was_binding;
  return done;
}

std::optional<Solution> some_path(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits) {
  constexpr double kAStarWeight = 4;
  bool limit_was_binding = false;
  const Found found = search_by_time(space, limit_bytes, kAStarWeight, limits, limit_was_binding);
  if (found.path.empty()) return std::nullopt;
  return solution_of(found);
}

namespace {

/// The path whose largest peak is smallest. If that peak is at most `floor_bytes`, any path with peaks up to
/// `floor_bytes` will do. A higher floor means that fewer shapes are examined.
SmallestLimit smallest_above(PlanSpace& space, int64_t floor_bytes) {
  const auto look_at = [&](Trial& trial) {
    if (!trial.begun) {
      trial.begun = true;
      const int64_t least = std::max(trial.from->device_bytes, trial.choice->next->device_bytes);
      trial.cost = std::max(trial.from_cost, double(least));
      return true;
    }
    space.work_out(*trial.from, *trial.choice);
    const int64_t bytes = static_cast<int64_t>(trial.cost) - trial.choice->beside_bytes;
    trial.taken = &trial.choice->shapes->within_or_smallest(bytes);
    trial.cost = std::max(trial.cost, double(trial.choice->peak_bytes(*trial.taken)));
    trial.exact = true;
    return true;
  };
  const auto bound = [](const State&, double) { return 0.0; };
  const Found found = Search(space, look_at, bound, 1, SearchLimits{}).run(double(floor_bytes));
  if (found.path.empty()) throw std::logic_error("a plan space without a plan");
  SmallestLimit smallest;
  for (const Arrival& arrival : found.path) {
    if (!arrival.choice->set->runs) continue;
    const int64_t peak = arrival.choice->peak_bytes(*arrival.shape);
    if (peak > smallest.bytes) {
      smallest.bytes = peak;
      smallest.pass = smallest.decisions.size();
    }
    smallest.decisions.push_back(decision_of(arrival));
  }
  return smallest;
}

}  // namespace

SmallestLimit smallest_limit(PlanSpace& space) {
  // No shape needs more than this, and a double holds it.
  int64_t floor_bytes = int64_t{1} << 52;
  while (true) {
    SmallestLimit smallest = smallest_above(space, floor_bytes);
    if (smallest.bytes > floor_bytes || floor_bytes == 0) return smallest;
    floor_bytes = smallest.bytes / 8 * 7;
  }
}

}  // namespace headroom::planner
