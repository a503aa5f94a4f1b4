#include "reports/figures/engines.h"

#include <algorithm>

#include "decoder/graph/short_name.h"
#include "planner/explain/untiled_peak.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostNamed = 4;

/// The largest of what is held, by name and size.
template <typename Entry>
std::string held_text(const std::vector<Entry>& live) {
  std::string text;
  for (size_t i = 0; i < std::min(kMostNamed, live.size()); ++i)
    text += (i ? ", " : "") + short_name(live[i].name) + " " + format(Unit::bytes, double(live[i].bytes));
  return text + (live.size() > kMostNamed ? ", …" : "");
}

}  // namespace

Table engines_table(const DocumentPtr& plan, const PeakDecision& decision) {
  const PlanDocument& planned = *plan->as<PlanDocument>();
  const planner::CostModel costs(planned.model.graph, planned.plan.request.device);
  const planner::UntiledPeak untiled = planner::untiled_peak(planned.model, planned.plan.request, costs);
  Table table{"Untiled by diffusers, and planned", {}, {}};
  table.columns = {{.title = "engine", .is_text = true},
                   {.title = "peak", .unit = Unit::bytes, .bars = true, .explanation = "Weights included."},
                   {.title = "step", .is_text = true, .explanation = "What runs at the peak."},
                   {.title = "held then", .is_text = true, .explanation = "The largest of it."}};
  if (!untiled.by_diffusers) return table;
  table.rows = {
      {{"diffusers on LibTorch", double(untiled.bytes), short_name(untiled.layer), held_text(untiled.live)},
       true},
      {{"this plan", double(decision.bytes), with_short_names(decision.step), held_text(decision.live)},
       false}};
  return table;
}

}  // namespace headroom::reports
