#include "reports/figures/engines.h"

#include <algorithm>

#include "decoder/base/short_name.h"
#include "planner/explain/untiled_peak.h"
#include "reports/figures/eager.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostNamed = 4;

/// Name and size of the largest held tensors.
template <typename Entry>
std::string largest_text(const std::vector<Entry>& live) {
  std::string text;
  for (size_t i = 0; i < std::min(kMostNamed, live.size()); ++i)
    text += (i ? ", " : "") + short_name(live[i].name) + " " + format(Unit::bytes, double(live[i].bytes));
  return text + (live.size() > kMostNamed ? ", …" : "");
}

/// Adds a row for each recorded decode of the plan's request, before the plan's own row.
void add_recorded(const profiler::EagerRecording& recording, const PlanDocument& planned, Table& table) {
  const Request& request = planned.plan.request;
  if (recording.class_name != planned.model.class_name || recording.model != request.model ||
      recording.dtype != request.dtype || recording.device_kind != request.device)
    return;
  for (const profiler::RecordedEagerDecode& decode : recording.decodes) {
    if (decode.width_pixels != request.width_pixels || decode.height_pixels != request.height_pixels ||
        decode.frames != request.frames || decode.batch != request.batch)
      continue;
    table.rows.insert(table.rows.end() - 1, {{"recorded: " + variant_text(decode), double(decode.peak_bytes),
                                              short_name(decode.peak_layer), held_text(decode.peak_live)},
                                             false});
  }
}

}  // namespace

std::string held_text(const std::vector<profiler::EagerTensor>& live) {
  return largest_text(live);
}

Table engines_table(const DocumentPtr& plan, const PeakDecision& decision,
                    const std::vector<DocumentPtr>& recordings) {
  const PlanDocument& planned = *plan->as<PlanDocument>();
  const planner::CostModel costs(planned.model.graph, planned.plan.request.device);
  const planner::UntiledPeak untiled = planner::untiled_peak(planned.model, planned.plan.request, costs);
  Table table{"Untiled by diffusers, and planned", {}, {}};
  table.columns = {{.title = "engine", .is_text = true},
                   {.title = "peak", .unit = Unit::bytes, .bars = true, .explanation = "Weights included."},
                   {.title = "step", .is_text = true, .explanation = "The step that runs at the peak."},
                   {.title = "held then",
                    .is_text = true,
                    .explanation = "The largest tensors that were live at the peak."}};
  if (!untiled.by_diffusers) return table;
  table.rows = {
      {{"diffusers on LibTorch", double(untiled.bytes), short_name(untiled.layer),
        largest_text(untiled.live)},
       true},
      {{"this plan", double(decision.bytes), with_short_names(decision.step), largest_text(decision.live)},
       false}};
  for (const DocumentPtr& document : recordings) {
    const auto* recording = document->as<profiler::EagerRecording>();
    if (recording != nullptr) add_recorded(*recording, planned, table);
  }
  return table;
}

}  // namespace headroom::reports
