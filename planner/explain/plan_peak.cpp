#include "planner/explain/plan_peak.h"

#include <algorithm>

#include "planner/explain/explain.h"

namespace headroom::planner {

size_t peak_pass(const Plan& plan) {
  const auto highest = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  return static_cast<size_t>(highest - plan.passes.begin());
}

PlanPeak peak_of_plan(const Plan& plan, const Model& model) {
  return peak_of_plan(plan, model, memory_model_of_plan(plan, model.graph));
}

PlanPeak peak_of_plan(const Plan& plan, const Model& model, const MemoryModel& memory) {
  const Graph& graph = model.graph;
  const size_t number = peak_pass(plan);
  const Pass& pass = plan.passes.at(number);
  const PassSweep sweep(graph, plan, number, memory);
  const Peak peak = sweep.peak();
  const Step& step = pass.steps[peak.point.step];
  std::vector<LiveEntry> live = live_at(plan, graph, number, sweep, peak.point);
  const int64_t beyond = pass.predicted_peak_bytes - peak.bytes;
  if (beyond > 0) {
    live.push_back({graph.tensor(step.tensor).name, MemoryKind::workspace, beyond});
    live = by_size(live);
  }
  return {number,          pass.name, step_text(step, graph), std::max(peak.bytes, pass.predicted_peak_bytes),
          std::move(live), peak.point};
}

std::vector<LiveEntry> by_kind(const std::vector<LiveEntry>& live) {
  std::vector<LiveEntry> kinds = live;
  for (LiveEntry& entry : kinds) entry.name = title_of(entry.kind);
  return by_size(kinds);
}

}  // namespace headroom::planner
