#include "planner/search/solver.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <stdexcept>

namespace headroom::planner {
namespace {

/// How a frontier before a pass was reached most cheaply.
struct Arrival {
  double cost = std::numeric_limits<double>::infinity();
  const Frontier* previous = nullptr;
  const Choice* choice = nullptr;
  const Shape* shape = nullptr;
  const Shape* lower_shape = nullptr;  ///< of a pass in two parts
  bool settled = false;
};

using Path = std::vector<Arrival>;

/// A path after one more choice.
struct Extended {
  double cost = 0;
  const Shape* shape = nullptr;
  const Shape* lower_shape = nullptr;
};

struct Found {
  Path path;         ///< empty where none was found
  double bound = 0;  ///< no path costs less
  bool in_time = true;
};

/// Best-first search over nodes, each a frontier before a pass: A*, or weighted A* where `a_star_weight` is
/// above 1.
///
/// `extend` gives the cost of a path after a choice for a pass, and the tile shapes that the choice is taken
/// with; null where the limit allows none. `bound(pass, again)` is a lower bound of the cost still to come.
/// It has two parts: what the passes from `pass` on take at the least, and `again`, what they take at the
/// least to recompute tensors that the last choice did not materialise.
///
/// The bound is not consistent: it counts an operation in the first pass that could run it, even where a
/// later pass does. So it may fall faster than costs rise, and a frontier that was expanded before may be
/// reached more cheaply later. Then it is expanded again. A weight above 1 overstates the bound, which finds
/// some path soon and proves nothing.
template <typename Extend, typename Bound>
Found search(PlanSpace& space, double start, const Extend& extend, const Bound& bound, double a_star_weight,
             const SearchLimits& limits) {
  struct Entry {
    double estimate;
    size_t pass;
    const Frontier* frontier;
    Arrival* arrival;
    bool operator<(const Entry& other) const {
      // Among equals the deeper one, which is nearer the end.
      return estimate != other.estimate ? estimate > other.estimate : pass < other.pass;
    }
  };
  std::vector<std::map<Frontier, Arrival>> arrivals(space.passes() + 1);
  std::priority_queue<Entry> queue;
  const auto first = arrivals[0].emplace(latent_frontier(), Arrival{}).first;
  first->second.cost = start;
  queue.push({start + a_star_weight * bound(0, 0), 0, &first->first, &first->second});
  Found found;
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    if (entry.arrival->settled) continue;
    entry.arrival->settled = true;
    found.bound = std::max(found.bound, entry.estimate);
    if (entry.pass == space.passes()) {
      const Arrival* step = entry.arrival;
      for (size_t pass = entry.pass; pass > 0; --pass) {
        found.path.push_back(*step);
        step = &arrivals[pass - 1].at(*step->previous);
      }
      std::reverse(found.path.begin(), found.path.end());
      return found;
    }
    if (a_star_weight <= 1 && entry.estimate >= limits.cutoff_seconds) return found;
    if (limits.deadline && std::chrono::steady_clock::now() > *limits.deadline) {
      found.in_time = false;
      return found;
    }
    for (Choice& choice : space.choices(entry.pass, *entry.frontier)) {
      const Extended extended = extend(entry.pass, entry.arrival->cost, choice);
      if (extended.shape == nullptr) continue;
      const double cost = extended.cost;
      const auto next = arrivals[entry.pass + 1].try_emplace(choice.next).first;
      if (next->second.cost <= cost || (a_star_weight > 1 && next->second.settled)) continue;
      next->second = {cost, entry.frontier, &choice, extended.shape, extended.lower_shape, false};
      queue.push({cost + a_star_weight * bound(entry.pass + 1, choice.again_seconds), entry.pass + 1,
                  &next->first, &next->second});
    }
  }
  return found;
}

PassDecision decision_of(const Arrival& arrival) {
  const Choice& choice = *arrival.choice;
  PassDecision decision{choice.keeps,
                        choice.in_place,
                        choice.below,
                        choice.shapes->tile(*arrival.shape),
                        arrival.shape->algorithm,
                        choice.at_cut_point,
                        choice.above};
  if (choice.lower_shapes != nullptr) {
    decision.lower_tile = choice.lower_shapes->tile(*arrival.lower_shape);
    decision.lower_convolutions = arrival.lower_shape->algorithm;
  }
  return decision;
}

/// `hindered` becomes true where the limit keeps a choice from its fastest shape.
Found search_by_time(PlanSpace& space, int64_t limit_bytes, double a_star_weight, const SearchLimits& limits,
                     bool& hindered) {
  const std::vector<int64_t>& held_back = limits.held_back_bytes;
  const auto extend = [&](size_t pass, double cost, Choice& choice) {
    const int64_t bytes = limit_bytes - (held_back.empty() ? 0 : held_back[pass]);
    Extended extended{cost, choice.shapes->fastest_within(bytes - choice.beside_bytes)};
    hindered = hindered || extended.shape != &choice.shapes->fastest();
    if (extended.shape == nullptr) return extended;
    extended.cost += choice.seconds(*extended.shape);
    if (choice.lower_shapes == nullptr) return extended;
    extended.lower_shape = choice.lower_shapes->fastest_within(bytes - choice.beside_bytes);
    if (extended.lower_shape == nullptr) return Extended{};
    extended.cost += choice.lower_seconds(*extended.lower_shape);
    return extended;
  };
  const auto bound = [&](size_t pass, double again) { return space.least_seconds_from(pass) + again; };
  return search(space, space.start_seconds(), extend, bound, a_star_weight, limits);
}

Solution solution_of(const Found& found) {
  Solution solution;
  solution.seconds = found.path.back().cost;
  for (size_t pass = 0; pass < found.path.size(); ++pass) {
    const Arrival& arrival = found.path[pass];
    if (!arrival.choice->runs) continue;
    const auto add = [&](const Shape& shape, double seconds) {
      solution.passes.push_back(pass);
      solution.pass_seconds.push_back(seconds);
      solution.peak_bytes = std::max(solution.peak_bytes, arrival.choice->peak_bytes(shape));
    };
    solution.decisions.push_back(decision_of(arrival));
    add(*arrival.shape, arrival.choice->seconds(*arrival.shape));
    if (arrival.lower_shape != nullptr)
      add(*arrival.lower_shape, arrival.choice->lower_seconds(*arrival.lower_shape));
  }
  return solution;
}

}  // namespace

SpaceSearch fastest(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits) {
  bool hindered = false;
  const Found found = search_by_time(space, limit_bytes, 1, limits, hindered);
  SpaceSearch done{std::nullopt, found.bound, found.in_time};
  if (found.path.empty()) return done;
  done.solution = solution_of(found);
  done.solution->unhindered = !hindered;
  return done;
}

std::optional<Solution> some_path(PlanSpace& space, int64_t limit_bytes, const SearchLimits& limits) {
  constexpr double kAStarWeight = 4;
  bool hindered = false;
  const Found found = search_by_time(space, limit_bytes, kAStarWeight, limits, hindered);
  if (found.path.empty()) return std::nullopt;
  return solution_of(found);
}

namespace {

/// The path whose largest peak is smallest; where that is no more than `floor_bytes`, some path below those.
/// The higher they are, the fewer shapes need to be looked at.
SmallestLimit smallest_above(PlanSpace& space, int64_t floor_bytes) {
  const auto extend = [](size_t, double cost, Choice& choice) {
    const int64_t bytes = static_cast<int64_t>(cost) - choice.beside_bytes;
    const Shape* shape = choice.shapes->within_or_smallest(bytes);
    Extended extended{std::max(cost, double(choice.peak_bytes(*shape))), shape};
    if (choice.lower_shapes == nullptr) return extended;
    extended.lower_shape = choice.lower_shapes->within_or_smallest(bytes);
    extended.cost = std::max(extended.cost, double(choice.peak_bytes(*extended.lower_shape)));
    return extended;
  };
  const Found found = search(space, double(floor_bytes), extend, [](size_t, double) { return 0.0; }, 1, {});
  if (found.path.empty()) throw std::logic_error("a plan space without a plan");
  SmallestLimit smallest;
  for (const Arrival& arrival : found.path) {
    if (!arrival.choice->runs) continue;
    for (const Shape* shape : {arrival.shape, arrival.lower_shape}) {
      const int64_t peak = shape != nullptr ? arrival.choice->peak_bytes(*shape) : 0;
      if (peak <= smallest.bytes) continue;
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
    floor_bytes = smallest.bytes / 2;
  }
}

}  // namespace headroom::planner
