#include "reports/figures/layers.h"

#include <algorithm>
#include <set>

namespace headroom::reports {
namespace {

/// Layers that cause a size's peak: the running layer, and the layer of the largest kept tensor.
std::set<std::string> peak_layers(const profiler::Profile& profile) {
  std::set<std::string> layers, made;
  for (const profiler::LayerProfile& layer : profile.layers) layers.insert(layer.name);
  for (const profiler::ProfiledSize& size : profile.sizes) {
    made.insert(size.peak_layer);
    // Skips entries for weights, tiles and workspace, which belong to no layer.
    const auto largest =
        std::find_if(size.peak_live.begin(), size.peak_live.end(),
                     [&](const profiler::LiveTensor& live) { return layers.contains(live.name); });
    if (largest != size.peak_live.end()) made.insert(largest->name);
  }
  return made;
}

void add_columns(const std::string& size, Table& table) {
  table.columns.push_back({.title = "activation",
                           .unit = Unit::bytes,
                           .bars = true,
                           .explanation = "Size of the layer's whole output, as stored.",
                           .group = size});
  table.columns.push_back(
      {.title = "workspace",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "Memory that the layer takes while it runs, besides its inputs and its output: "
                      "buffers, and the zero padding of a convolution.",
       .group = size});
  table.columns.push_back({.title = "live",
                           .unit = Unit::bytes,
                           .bars = true,
                           .explanation = "All memory in use on the device at the layer's peak, weights "
                                          "and kept tensors of other layers included.",
                           .group = size});
  table.columns.push_back({.title = "work",
                           .unit = Unit::flops,
                           .explanation = "Floating-point operations of the direct form, a multiplication "
                                          "and an addition counted as two.",
                           .group = size});
  table.columns.push_back({.title = "time",
                           .unit = Unit::seconds,
                           .bars = true,
                           .explanation = "The shortest of the profiled runs.",
                           .group = size});
}

/// Attention's tiles are queries by keys. All other tiles are rows by columns of positions.
bool is_attention(const profiler::LatencyTable& latency_table) {
  return latency_table.name.starts_with("attention");
}

}  // namespace

std::string size_text(const profiler::ProfiledSize& size) {
  std::string text = std::to_string(size.width_pixels) + "×" + std::to_string(size.height_pixels);
  if (size.frames > 1) text += ", " + std::to_string(size.frames) + " frames";
  if (size.batch > 1) text += ", batch " + std::to_string(size.batch);
  return text;
}

Table layers_table(const profiler::Profile& profile) {
  Table table{"Layers of " + profile.model, {}, {}};
  table.columns = {{.title = "layer", .is_text = true},
                   {.title = "kind", .is_text = true},
                   {.title = "latency table",
                    .is_text = true,
                    .explanation = "Layers that differ only in their sizes share a latency table."}};
  for (const profiler::ProfiledSize& size : profile.sizes) add_columns(size_text(size), table);
  const std::set<std::string> peaks = peak_layers(profile);
  for (const profiler::LayerProfile& layer : profile.layers) {
    Row row{{layer.name, layer.kind, layer.latency_table}, peaks.contains(layer.name)};
    for (const profiler::LayerMeasurement& measured : layer.sizes) {
      row.cells.insert(row.cells.end(), {double(measured.activation_bytes), double(measured.workspace_bytes),
                                         double(measured.live_bytes), measured.flops, measured.seconds});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table peak_live_table(const profiler::Profile& profile, size_t number) {
  const profiler::ProfiledSize& size = profile.sizes.at(number);
  Table table{"Live at the peak of " + size_text(size) + ", in " + size.peak_layer, {}, {}};
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "size", .unit = Unit::bytes, .bars = true},
                   {.title = "share",
                    .unit = Unit::share,
                    .explanation = "Share of the device memory in use at that moment."}};
  int64_t all = 0;
  for (const profiler::LiveTensor& live : size.peak_live) all += live.bytes;
  for (const profiler::LiveTensor& live : size.peak_live) {
    table.rows.push_back(
        {{live.name, double(live.bytes), double(live.bytes) / double(std::max<int64_t>(1, all))},
         table.rows.empty()});
  }
  return table;
}

Chart latency_table_chart(const profiler::LatencyTable& latency_table) {
  const bool attention = is_attention(latency_table);
  Chart chart;
  chart.title = latency_table.name;
  chart.x = {attention ? "queries × keys" : "positions of a tile", Unit::none, true};
  chart.y = {"time of one call", Unit::seconds, true};
  for (size_t column = 0; column < latency_table.columns.size(); ++column) {
    Series series{std::to_string(latency_table.columns[column]) + (attention ? " keys" : " columns"),
                  Mark::line,
                  ColourRole::measured,
                  {},
                  {}};
    for (size_t row = 0; row < latency_table.rows.size(); ++row) {
      series.x.push_back(double(latency_table.rows[row]) * double(latency_table.columns[column]));
      series.y.push_back(latency_table.seconds[row * latency_table.columns.size() + column]);
    }
    // All lines have one colour, so a note at the end of each line names it.
    chart.notes.push_back({series.x.back(), series.y.back(), series.name});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace headroom::reports
