#include "reports/figures/eager.h"

#include <algorithm>
#include <map>
#include <set>

#include "decoder/base/short_name.h"
#include "planner/explain/peak.h"

namespace headroom::reports {
namespace {

void add_layer_columns(const std::string& decode, Table& table) {
  const auto add = [&](const char* title, const char* explanation) {
    table.columns.push_back(
        {.title = title, .unit = Unit::bytes, .bars = true, .explanation = explanation, .group = decode});
  };
  add("activation", "Memory still allocated after the layer's call: its result and tensors that it keeps.");
  add("workspace", "Memory that the layer takes while it runs and then returns.");
  add("live", "All memory allocated at the layer's peak, weights included.");
  table.columns.push_back(
      {.title = "time",
       .unit = Unit::seconds,
       .bars = true,
       .explanation = "Time of all calls. On a GPU: time of the thread that launches the kernels.",
       .group = decode});
}

}  // namespace

std::string variant_text(const profiler::RecordedEagerDecode& decode) {
  std::string text = std::to_string(decode.width_pixels) + "×" + std::to_string(decode.height_pixels);
  if (decode.frames > 1) text += ", " + std::to_string(decode.frames) + " frames";
  if (decode.batch > 1) text += ", batch " + std::to_string(decode.batch);
  return text;
}

Table eager_table(const profiler::EagerRecording& recording) {
  Table table{"Recorded decodes of " + recording.model, {}, {}};
  table.columns = {
      {.title = "decode", .is_text = true},
      {.title = "peak", .unit = Unit::bytes, .bars = true, .explanation = "Weights included."},
      {.title = "counted", .unit = Unit::bytes, .explanation = "Predicted from the layer graph, untiled."},
      {.title = "counted / recorded - 1", .unit = Unit::share},
      {.title = "Headroom needs",
       .unit = Unit::bytes,
       .explanation = "The smallest limit that Headroom decodes the same picture in."},
      {.title = "time", .unit = Unit::seconds, .bars = true},
      {.title = "layer", .is_text = true, .explanation = "The layer that ran at the peak."},
      {.title = "held then",
       .is_text = true,
       .explanation = "The largest tensors that were live at the peak."}};
  int64_t most = 0;
  for (const profiler::RecordedEagerDecode& decode : recording.decodes)
    most = std::max(most, decode.peak_bytes);
  for (const profiler::RecordedEagerDecode& decode : recording.decodes) {
    Cell is_counted, error, needed;
    if (decode.counted_peak_bytes > 0 && decode.peak_bytes > 0) {
      is_counted = double(decode.counted_peak_bytes);
      error = double(decode.counted_peak_bytes) / double(decode.peak_bytes) - 1;
    }
    if (decode.smallest_limit_bytes > 0) needed = double(decode.smallest_limit_bytes);
    table.rows.push_back({{variant_text(decode), double(decode.peak_bytes), is_counted, error, needed,
                           decode.seconds, short_name(decode.peak_layer), held_text(decode.peak_live)},
                          decode.peak_bytes == most});
  }
  return table;
}

Chart eager_chart(const profiler::RecordedEagerDecode& decode) {
  Series live{"live", Mark::steps, ColourRole::measured, decode.moment_seconds, {}};
  live.y.assign(decode.moment_bytes.begin(), decode.moment_bytes.end());
  Chart chart{"Live memory over time, " + variant_text(decode),
              {"time", Unit::seconds},
              {"allocated", Unit::bytes},
              {std::move(live)},
              {},
              {},
              {}};
  const auto most = std::max_element(decode.moment_bytes.begin(), decode.moment_bytes.end());
  if (most != decode.moment_bytes.end()) {
    const auto at = static_cast<size_t>(most - decode.moment_bytes.begin());
    chart.notes.push_back({decode.moment_seconds[at], double(*most), short_name(decode.peak_layer)});
  }
  if (decode.smallest_limit_bytes > 0)
    chart.guides.push_back({.label = "Headroom needs", .at = double(decode.smallest_limit_bytes)});
  return chart;
}

Table eager_layers_table(const profiler::EagerRecording& recording) {
  Table table{"Layers of recorded decodes", {}, {}};
  table.columns = {{.title = "layer", .is_text = true}, {.title = "kind", .is_text = true}};
  std::map<std::string, size_t> row_of;
  std::set<std::string> peaks;
  for (const profiler::RecordedEagerDecode& decode : recording.decodes) {
    add_layer_columns(variant_text(decode), table);
    peaks.insert(decode.peak_layer);
    for (const profiler::RecordedLayer& layer : decode.layers) {
      const auto [found, is_new] = row_of.try_emplace(layer.name, table.rows.size());
      if (is_new) table.rows.push_back({{layer.name, layer.kind}, false});
      Row& row = table.rows[found->second];
      row.cells.resize(table.columns.size() - 4);
      row.cells.insert(row.cells.end(), {double(layer.activation_bytes), double(layer.workspace_bytes),
                                         double(layer.live_bytes), layer.seconds});
    }
  }
  for (auto& [name, number] : row_of) {
    table.rows[number].cells.resize(table.columns.size());
    table.rows[number].stands_out = peaks.contains(name);
  }
  return table;
}

Table eager_live_table(const profiler::EagerRecording& recording) {
  Table table{"Live at the recorded peaks", {}, {}};
  table.columns = {{.title = "name", .is_text = true}};
  std::map<std::string, Row> rows;
  std::map<std::string, double> most;
  for (const profiler::RecordedEagerDecode& decode : recording.decodes) {
    table.columns.push_back({.title = variant_text(decode), .unit = Unit::bytes, .bars = true});
    for (const profiler::EagerTensor& held : decode.peak_live) {
      Row& row = rows[held.name];
      row.cells.resize(table.columns.size());
      row.cells.front() = held.name;
      row.cells.back() = double(held.bytes);
      most[held.name] = std::max(most[held.name], double(held.bytes));
    }
  }
  for (auto& [name, row] : rows) {
    row.cells.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const Row& a, const Row& b) {
    return most[std::get<std::string>(a.cells.front())] > most[std::get<std::string>(b.cells.front())];
  });
  return table;
}

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
