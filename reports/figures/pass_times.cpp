#include "reports/figures/pass_times.h"

#include <algorithm>
#include <numeric>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/tiles.h"
#include "planner/cost/cost_model.h"

namespace headroom::reports {
std::vector<double> seconds_of_passes(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  std::vector<double> seconds, flops;
  for (const Pass& pass : plan.passes) seconds.push_back(pass.predicted_seconds);
  // A rank without rows has no tiles in any pass, and takes no time.
  const bool any_tiles = std::any_of(plan.passes.begin(), plan.passes.end(),
                                     [](const Pass& pass) { return !pass.tiles.y.empty(); });
  if (!any_tiles) return seconds;
  for (const Pass& pass : plan.passes) {
    flops.push_back(pass.predicted_flops > 0
                        ? pass.predicted_flops
                        : planner::pass_flops(graph, pass, cut_tile(graph, pass),
                                              sizes_of_pass(sizes_of(graph, plan), pass)));
  }
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  if (sum(seconds) > 0) return seconds;
  if (sum(flops) <= 0) flops.assign(flops.size(), 1);
  const double all = sum(flops), whole = plan.predicted_seconds > 0 ? plan.predicted_seconds : 1;
  for (double& share : flops) share *= whole / all;
  return flops;
}

double seconds_before_passes(const PlanDocument& document) {
  const std::vector<double> seconds = seconds_of_passes(document);
  const double whole = document.plan.predicted_seconds;
  const double before = whole - std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return before > whole * 1e-9 ? before : 0;
}

}  // namespace headroom::reports
