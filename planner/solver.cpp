#include "planner/solver.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>
#include <stdexcept>

#include "decoder/graph/errors.h"
#include "decoder/plan/validator.h"

namespace headroom {
namespace {

/// How a frontier before a pass was reached most cheaply.
struct Arrival {
  double cost = 0;
  Frontier previous;
  const Choice* choice = nullptr;
  const Shape* shape = nullptr;
  bool settled = false;
};

/// Best-first search over (pass, frontier). `extend` gives the cost of a path after one more shape of a choice, or
/// nothing where the shape is not allowed; `bound` what is still to come at the least.
template <typename Extend, typename Bound>
std::optional<std::vector<const Arrival*>> search(PlanSpace& space, std::vector<std::map<Frontier, Arrival>>& arrivals,
                                                  const Extend& extend, const Bound& bound) {
  struct Entry {
    double estimate;
    size_t pass;
    const Frontier* frontier;
    bool operator<(const Entry& other) const {
      // Among equals the deeper one, which is nearer the end.
      return estimate != other.estimate ? estimate > other.estimate : pass < other.pass;
    }
  };
  arrivals.assign(space.passes() + 1, {});
  std::priority_queue<Entry> queue;
  const auto start = arrivals[0].emplace(Frontier{TensorId{0}}, Arrival{}).first;
  queue.push({bound(0), 0, &start->first});
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    Arrival& here = arrivals[entry.pass].at(*entry.frontier);
    if (here.settled) continue;
    here.settled = true;
    if (entry.pass == space.passes()) {
      std::vector<const Arrival*> path;
      const Frontier* frontier = entry.frontier;
      for (size_t pass = entry.pass; pass > 0; --pass) {
        path.push_back(&arrivals[pass].at(*frontier));
        frontier = &path.back()->previous;
      }
      std::reverse(path.begin(), path.end());
      return path;
    }
    for (const Choice& choice : space.choices(entry.pass, *entry.frontier)) {
      double cost = std::numeric_limits<double>::infinity();
      const Shape* best = nullptr;
      for (const Shape& shape : choice.shapes) {
        const std::optional<double> extended = extend(here.cost, shape);
        if (extended && *extended < cost) {
          cost = *extended;
          best = &shape;
        }
      }
      if (best == nullptr) continue;
      const auto [next, is_new] = arrivals[entry.pass + 1].try_emplace(choice.next);
      if (!is_new && (next->second.settled || next->second.cost <= cost)) continue;
      next->second = {cost, *entry.frontier, &choice, best, false};
      queue.push({cost + bound(entry.pass + 1), entry.pass + 1, &next->first});
    }
  }
  return std::nullopt;
}

std::string mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + "MiB"; }

}  // namespace

std::optional<Solution> fastest(PlanSpace& space, int64_t limit_bytes) {
  std::vector<std::map<Frontier, Arrival>> arrivals;
  const auto path = search(
      space, arrivals,
      [&](double cost, const Shape& shape) {
        return shape.peak_bytes <= limit_bytes ? std::optional(cost + shape.seconds) : std::nullopt;
      },
      [&](size_t pass) { return space.least_seconds_from(pass); });
  if (!path) return std::nullopt;
  Solution solution;
  for (const Arrival* arrival : *path) {
    solution.decisions.push_back({arrival->choice->keeps, arrival->choice->in_place, {}, arrival->shape->tile});
    solution.pass_seconds.push_back(arrival->shape->seconds);
    solution.seconds = arrival->cost;
  }
  return solution;
}

SmallestLimit smallest_limit(PlanSpace& space) {
  std::vector<std::map<Frontier, Arrival>> arrivals;
  const auto path = search(
      space, arrivals, [](double cost, const Shape& shape) { return std::optional(std::max(cost, double(shape.peak_bytes))); },
      [](size_t) { return 0.0; });
  SmallestLimit smallest;
  for (size_t pass = 0; path && pass < path->size(); ++pass) {
    const int64_t peak = (*path)[pass]->shape->peak_bytes;
    if (peak > smallest.bytes) smallest = {peak, pass};
  }
  return smallest;
}

Plan make_plan(const Model& model, const Request& request, int64_t limit_bytes, const CostModel& costs) {
  std::vector<int64_t> slices{request.batch};
  if (request.batch > 1) slices.push_back(1);
  std::optional<Solution> best;
  int64_t best_slice = 0;
  std::vector<std::unique_ptr<PlanSpace>> spaces;
  for (int64_t slice : slices) {
    spaces.push_back(std::make_unique<PlanSpace>(model, request, slice, costs));
    std::optional<Solution> solution = fastest(*spaces.back(), limit_bytes);
    if (!solution) continue;
    solution->seconds *= double(request.batch / slice);
    if (!best || solution->seconds < best->seconds) {
      best = std::move(solution);
      best_slice = slice;
    }
  }
  if (!best) {
    PlanSpace& smallest_slice = *spaces.back();
    const SmallestLimit smallest = smallest_limit(smallest_slice);
    throw DoesNotFit(std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels) +
                         " does not fit " + mebibytes(limit_bytes) + "; the smallest limit that works is " +
                         mebibytes(smallest.bytes) + " (" + std::to_string(smallest.bytes) + " bytes): pass " +
                         std::to_string(smallest.pass) + " (" + smallest_slice.pass_name(smallest.pass) + ") needs that much",
                     smallest.bytes);
  }
  Plan plan = build_plan(model, request, {.slice = best_slice}, best->decisions, costs.memory());
  plan.limit_bytes = limit_bytes;
  plan.predicted_seconds = best->seconds + costs.weights_seconds(plan.weights_bytes);
  plan.optimal = true;
  plan.exact = true;
  plan.assumed = costs.assumed();
  plan.environment = costs.environment();
  const Sizes sizes = sizes_of(model.graph, plan);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    plan.passes[i].predicted_seconds = best->pass_seconds[i] * double(request.batch / best_slice);
    plan.passes[i].predicted_flops =
        pass_flops(model.graph, plan.passes[i], best->decisions[i].tile, sizes) * double(request.batch / best_slice);
  }
  // A plan that does not pass is a fault of ours, never of the input.
  const std::vector<Violation> violations = validate(plan, model);
  if (!violations.empty()) throw std::logic_error("unsound plan: " + violations[0].place + ": " + violations[0].what);
  return plan;
}

}  // namespace headroom
