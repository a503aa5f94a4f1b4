#include "reports/render/report.h"

#include "reports/render/findings.h"
#include "reports/render/sections.h"

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
  for (const SharedRun& run : found.shared) {
    if (run.planned() != nullptr) return "Headroom: " + request_text(run.planned()->request);
  }
  if (!found.frontiers.empty())
    return "Headroom: " + request_text(found.frontiers.front()->as<FrontierDocument>()->request);
  if (!found.profiles.empty()) return "Headroom: " + found.profiles.front()->as<profiler::Profile>()->model;
  if (!found.histories.empty()) {
    return "Memory that PyTorch recorded" +
           (found.need ? ": " + request_text(found.need->request) : std::string());
  }
  if (!found.eager.empty())
    return "Recorded decode: " + found.eager.front()->as<profiler::EagerRecording>()->model;
  return "Headroom report";
}

/// Moves parts that would exceed the first four printed pages into a folded section of their own. The first
/// part always stays.
Section beyond_first_pages(Section& section) {
  constexpr size_t kMostCharts = 4, kMostTables = 5;
  size_t charts = 0, tables = 0, stay = 0;
  for (const Part& part : section.parts) {
    charts += part.charts.size();
    tables += part.tables.size();
    if (stay > 0 && (charts > kMostCharts || tables > kMostTables)) break;
    ++stay;
  }
  Section others{section.title + ", the other files", {}, true};
  const auto from = section.parts.begin() + static_cast<std::ptrdiff_t>(stay);
  others.parts.assign(std::make_move_iterator(from), std::make_move_iterator(section.parts.end()));
  section.parts.erase(from, section.parts.end());
  return others;
}

}  // namespace

Report make_report(const std::vector<DocumentPtr>& documents, const ReportOptions& options) {
  const Findings found = work_out(documents, options);
  Report report;
  report.title = options.title.empty() ? page_title(found) : options.title;
  report.files = documents.size();
  report.headline = headline_of(found);
  const auto add = [&](Section section, bool open) {
    if (section.parts.empty()) return;
    section.folded = !open && !report.headline.figures.empty();
    Section others = open ? beyond_first_pages(section) : Section();
    report.sections.push_back(std::move(section));
    if (!others.parts.empty()) report.sections.push_back(std::move(others));
  };
  // Sections that a page opens below its key figures. With a decode: memory and remedies for the peak.
  // Otherwise: the main contents of the files.
  const bool decode = !found.runs.empty() || !found.shared.empty();
  const bool history = !decode && !found.histories.empty();
  const bool frontier = !decode && !history && !found.frontiers.empty();
  const bool eager = !decode && !history && !frontier && found.profiles.empty();
  const bool profile = !decode && !history && !frontier && !eager;
  Section summary = summary_section(found);
  for (Part& part : summary.parts) std::erase(part.sentences, report.headline.sentence);
  std::erase_if(summary.parts, [](const Part& part) { return part.sentences.empty(); });
  add(std::move(summary), false);
  add(history_section(found), history);
  add(ranks_section(found), false);
  add(memory_section(found), true);
  add(lower_section(found), true);
  add(peak_section(found), false);
  add(passes_section(found), false);
  add(gpu_section(found), false);
  add(kept_section(found), false);
  add(eager_section(found), eager);
  add(layers_section(found), false);
  add(scaling_section(found), profile);
  add(frontier_section(found), frontier);
  add(comparison_section(found), false);
  add(files_section(found), false);
  return report;
}

std::string heading_of(const Column& column) {
  return column.group.empty() ? column.title : column.group + " " + column.title;
}

size_t count_charts(const Report& report) {
  return count_in_parts(report, [](const Part& part) { return part.charts.size(); });
}

size_t count_tables(const Report& report) {
  return count_in_parts(report, [](const Part& part) { return part.tables.size(); });
}

}  // namespace headroom::reports
