#include <algorithm>
#include <map>
#include <utility>

#include "reports/figures/eager.h"
#include "reports/figures/layers.h"
#include "reports/figures/passes.h"
#include "reports/render/sections.h"

namespace headroom::reports {
namespace {

/// A row for each size. Cells without data stay empty.
Table scaling_table(const Scaling& scaling) {
  Table table{"Peak against resolution", {}, {}};
  table.columns = {{.title = "size", .is_text = true}, {.title = "pixels", .unit = Unit::pixels}};
  const auto by_pixels = [](const ScalingPoint& point) {
    return std::pair(point.pixels(), point.width_pixels);
  };
  std::map<std::pair<int64_t, int64_t>, Row> rows;
  const auto add = [&](const char* title, const char* explanation, const std::vector<ScalingPoint>& series) {
    if (series.empty()) return;
    table.columns.push_back({.title = title, .unit = Unit::bytes, .bars = true, .explanation = explanation});
    for (const ScalingPoint& point : series) {
      Row& row = rows[by_pixels(point)];
      if (row.cells.empty()) {
        row.cells = {std::to_string(point.width_pixels) + "×" + std::to_string(point.height_pixels),
                     double(point.pixels())};
      }
      row.cells.resize(table.columns.size());
      row.cells.back() = double(point.bytes);
    }
  };
  add("untiled", "Predicted: every pass one tile, everything kept.", scaling.untiled);
  add("smallest limit", "Predicted: the smallest limit under which there is a plan.", scaling.planned);
  add("untiled, measured", "From profiles.", scaling.measured_untiled);
  add("runs, measured", "From runs of plans.", scaling.measured);
  for (auto& [pixels, row] : rows) {
    row.cells.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Limit to draw into a frontier, from a plan of the same request.
int64_t limit_for(const FrontierDocument& frontier, const Findings& found) {
  if (found.other_limit_bytes) return *found.other_limit_bytes;
  for (const ReportedRun& run : found.runs) {
    if (run.planned() != nullptr && run.planned()->plan.request == frontier.request) return run.limit_bytes();
  }
  return 0;
}

}  // namespace

Section layers_section(const Findings& found) {
  Section section{"Layers", {}};
  for (const DocumentPtr& document : found.profiles) {
    const profiler::Profile& profile = *document->as<profiler::Profile>();
    Part part;
    if (found.profiles.size() > 1) part.heading = document->file.string();
    part.sentences.push_back(
        "Measured untiled, layer by layer. Rows in bold made the peak: they ran then, or their tensor was "
        "the largest.");
    part.tables.push_back(layers_table(profile));
    for (size_t size = 0; size < profile.sizes.size(); ++size)
      part.tables.push_back(peak_live_table(profile, size));
    section.parts.push_back(std::move(part));
  }
  return section;
}

Section eager_section(const Findings& found) {
  Section section{"Recorded decode", {}};
  for (const DocumentPtr& document : found.eager) {
    const profiler::EagerRecording& recording = *document->as<profiler::EagerRecording>();
    Part part;
    if (found.eager.size() > 1) part.heading = document->file.string();
    part.sentences.push_back("Memory of the original decode by " + recording.class_name +
                             ", module by module, as the allocator of " + recording.libraries +
                             " reported it. Rows in bold made a peak.");
    for (const profiler::RecordedEagerDecode& decode : recording.decodes)
      part.charts.push_back(eager_chart(decode));
    part.tables = {eager_table(recording), eager_live_table(recording), eager_layers_table(recording)};
    section.parts.push_back(std::move(part));
  }
  return section;
}

Section scaling_section(const Findings& found) {
  Section section{"Peak against resolution", {}};
  if (!found.scaling) return section;
  Part part;
  if (!found.scaling_remark.empty()) part.sentences.push_back(found.scaling_remark);
  part.charts.push_back(scaling_chart(*found.scaling));
  part.tables.push_back(scaling_table(*found.scaling));
  section.parts.push_back(std::move(part));
  return section;
}

Section frontier_section(const Findings& found) {
  Section section{"Peak against time", {}};
  for (const DocumentPtr& document : found.frontiers) {
    const FrontierDocument& frontier = *document->as<FrontierDocument>();
    Part part;
    if (found.frontiers.size() > 1) part.heading = document->file.string();
    part.sentences.push_back("Plans of " + request_text(frontier.request) +
                             ", each smaller and slower than the one before" +
                             (frontier.assumed ? ", by assumed costs." : ", by the costs of a profile."));
    part.charts.push_back(frontier_chart(frontier.points, limit_for(frontier, found)));
    part.tables.push_back(frontier_table(frontier.points));
    section.parts.push_back(std::move(part));
  }
  return section;
}

}  // namespace headroom::reports
