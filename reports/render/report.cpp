#include "reports/render/report.h"

#include "reports/render/findings.h"
#include "reports/render/headline.h"
#include "reports/render/sections.h"
#include "reports/render/sentences.h"

namespace headroom::reports {
namespace {

template <typename Count>
size_t count_in_parts(const Report& report, Count count) {
  size_t sum = 0;
  for (const Section& section : report.sections) {
    for (const Part& part : section.parts) sum += count(part);
  }
  return sum;
}

std::string page_title(const Findings& found) {
  for (const ReportedRun& run : found.runs) {
    if (run.planned() != nullptr) return "Headroom: " + request_text(run.planned()->plan.request);
  }
  for (const RankedRun& run : found.ranked) {
    if (run.planned() != nullptr) return "Headroom: " + request_text(run.planned()->shared.request);
  }
  if (!found.frontiers.empty())
    return "Headroom: " + request_text(found.frontiers.front()->as<FrontierDocument>()->request);
  if (!found.profiles.empty()) return "Headroom: " + found.profiles.front()->as<profiler::Profile>()->model;
  if (!found.histories.empty()) {
    return "Memory that PyTorch recorded" +
           (found.need ? ": " + request_text(found.need->request) : std::string());
  }
  return "Headroom report";
}

}  // namespace

Report make_report(const std::vector<DocumentPtr>& documents, const ReportOptions& options) {
  const Findings found = work_out(documents, options);
  Report report;
  report.title = options.title.empty() ? page_title(found) : options.title;
  report.files = documents.size();
  const auto add = [&](Section section) {
    if (!section.parts.empty()) report.sections.push_back(std::move(section));
  };
  report.headline = headline_of(found);
  add(summary_section(found));
  add(history_section(found));
  add(ranks_section(found));
  const size_t open_from = report.sections.size();
  add(memory_section(found));
  add(lower_section(found));
  const size_t open_to = report.sections.size();
  add(peak_section(found));
  add(passes_section(found));
  add(gpu_section(found));
  add(materialised_section(found));
  add(layers_section(found));
  add(scaling_section(found));
  add(frontier_section(found));
  add(comparison_section(found));
  add(environment_section(found));
  add(files_section(found));
  // Below its large figures a page shows the picture of memory and what would lower the peak.
  for (size_t i = 0; i < report.sections.size(); ++i)
    report.sections[i].folded = !report.headline.figures.empty() && (i < open_from || i >= open_to);
  return report;
}

const std::string& title_of(const Drawing& drawing) {
  return std::visit([](const auto& chart) -> const std::string& { return chart.title; }, drawing);
}

std::string heading_of(const Column& column) {
  return column.group.empty() ? column.title : column.group + " " + column.title;
}

size_t count_drawings(const Report& report) {
  return count_in_parts(report, [](const Part& part) { return part.drawings.size(); });
}

size_t count_tables(const Report& report) {
  return count_in_parts(report, [](const Part& part) { return part.tables.size(); });
}

}  // namespace headroom::reports
