#include "planner/frames.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// True where no plan of `frame` can be faster than one that no limit kept from anything: weights that come pass by pass
/// are brought in no less often than those that stay, and transfers only add time.
bool cannot_be_faster(const SpaceFrame& frame, const FrameSearch::Best& best) {
  const bool weights_stay = best.frame.weights == WeightResidency::resident || frame.weights == WeightResidency::per_pass;
  return best.solution.unhindered && best.frame.slice == frame.slice && weights_stay;
}

}  // namespace

Spaces spaces_of(const Model& model, const Request& request, const PlanOptions& options, const CostModel& costs) {
  std::vector<int64_t> slices{request.batch};
  if (request.batch > 1) slices.push_back(1);
  std::vector<WeightResidency> residencies{WeightResidency::resident, WeightResidency::per_pass};
  if (options.weights) residencies = {*options.weights};
  Spaces spaces;
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

FrameSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                         std::optional<std::chrono::steady_clock::time_point> deadline) {
  FrameSearch search;
  search.bound_seconds = kForever;
  std::optional<FrameSearch::Best>& best = search.best;
  for (const auto& space : spaces) {
    const SpaceFrame& frame = space->frame();
    if (best && cannot_be_faster(frame, *best)) continue;
    const double start = space->start_seconds();
    const auto slices = double(request.batch / frame.slice);
    // Only what is faster than the best so far is of use.
    const double enough = best ? start + (best->seconds - start) / slices : kForever;
    std::optional<Solution> solution = fastest(*space, limit_bytes, {deadline, enough});
    if (deadline && std::chrono::steady_clock::now() > *deadline) search.in_time = false;
    if (!solution) {
      if (!search.in_time) search.bound_seconds = 0;  // this space has not been searched to its end
      continue;  // nothing fits, or nothing faster
    }
    search.bound_seconds = std::min(search.bound_seconds, start + (solution->bound_seconds - start) * slices);
    const double seconds = start + (solution->seconds - start) * slices;
    if (!best || seconds < best->seconds) best = {std::move(*solution), frame, start, seconds};
  }
  return search;
}

SmallestOver smallest_over(const Spaces& spaces) {
  SmallestOver best;
  for (const auto& space : spaces) {
    SmallestLimit smallest = smallest_limit(*space);
    if (smallest.bytes < best.smallest.bytes) best = {std::move(smallest), space->frame()};
  }
  return best;
}

}  // namespace headroom
