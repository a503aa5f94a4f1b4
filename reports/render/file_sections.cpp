#include <algorithm>
#include <array>
#include <utility>

#include "reports/figures/comparison.h"
#include "reports/figures/history.h"
#include "reports/render/sections.h"

namespace headroom::reports {
namespace {

constexpr std::array kKinds{"plan",           "stats",          "trace",
                            "profile",        "frontier",       "plan of ranks",
                            "trace of ranks", "memory history", "recorded decodes"};

Cell text_or_nothing(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

/// Device, libraries, threads, dtype and costs, as far as the file has them.
std::vector<Cell> environment_of(const Document& document, const std::string& recorded_device) {
  Cell device, libraries, threads, dtype, costs;
  const auto costs_text = [](bool assumed) { return assumed ? "assumed" : "from a profile"; };
  if (const PlanDocument* plan = document.as<PlanDocument>()) {
    device = text_or_nothing(plan->plan.environment.device);
    libraries = text_or_nothing(plan->plan.environment.libraries);
    dtype = arithmetic_of(plan->plan.request);
    costs = costs_text(plan->plan.assumed);
  } else if (const RunStats* stats = document.as<RunStats>()) {
    device = text_or_nothing(stats->device);
    libraries = text_or_nothing(stats->libraries);
    if (stats->threads > 0) threads = double(stats->threads);
  } else if (const RecordedTrace* trace = document.as<RecordedTrace>()) {
    device = text_or_nothing(trace->trace.device);
    libraries = text_or_nothing(trace->trace.libraries);
  } else if (!document.ranks.empty()) {
    return environment_of(*document.ranks.front(), recorded_device);
  } else if (const profiler::Profile* profile = document.as<profiler::Profile>()) {
    device = text_or_nothing(profile->device);
    libraries = text_or_nothing(profile->libraries);
    if (profile->threads > 0) threads = double(profile->threads);
    dtype = name_of(profile->dtype);
    costs = "measured";
  } else if (const FrontierDocument* frontier = document.as<FrontierDocument>()) {
    dtype = arithmetic_of(frontier->request);
    costs = costs_text(frontier->assumed);
  } else if (const auto* recording = document.as<profiler::EagerRecording>()) {
    device = text_or_nothing(recording->device);
    libraries = text_or_nothing(recording->libraries);
    if (recording->threads > 0) threads = double(recording->threads);
    dtype = name_of(recording->dtype);
    costs = "measured";
  } else if (const auto* history = document.as<profiler::MemoryHistory>()) {
    device = device_of(*history, recorded_device).device;
    libraries = text_or_nothing(history->allocator_settings);
  }
  return {device, libraries, threads, dtype, costs};
}

}  // namespace

Section comparison_section(const Findings& found) {
  Section section{"Comparison", {}};
  for (const char* kind : kKinds) {
    const Document* first = nullptr;
    for (const DocumentPtr& document : found.documents) {
      if (std::string(kind_of(*document)) != kind) continue;
      if (first == nullptr) {
        first = document.get();
        continue;
      }
      Part part;
      part.heading = first->file.string() + " and " + document->file.string();
      part.tables = compare(*first, *document, found.recorded_device);
      std::erase_if(part.tables, [](const Table& table) { return table.rows.empty(); });
      if (part.tables.empty()) part.sentences.push_back("They do not differ.");
      section.parts.push_back(std::move(part));
    }
  }
  return section;
}

Section files_section(const Findings& found) {
  Table table{"Files of this report", {}, {}};
  for (const char* title : {"file", "kind", "summary", "device", "libraries", "threads", "dtype", "costs"})
    table.columns.push_back({.title = title, .is_text = std::string(title) != "threads"});
  for (const DocumentPtr& document : found.documents) {
    table.rows.push_back(
        {{document->file.string(), kind_of(*document), summary(*document, found.recorded_device)}, false});
    for (Cell& cell : environment_of(*document, found.recorded_device))
      table.rows.back().cells.push_back(std::move(cell));
  }
  Part part;
  part.tables.push_back(std::move(table));
  return {"Files", {std::move(part)}};
}

namespace {

constexpr size_t kHistoryColumns = 640;  ///< columns of a chart; the drawing is 960 wide
constexpr size_t kMostTensors = 20;

/// The part for one device of a recording.
Part history_part(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                  const Findings& found) {
  Part part;
  part.sentences = history_sentences(history, device);
  part.charts.push_back(
      with_other_limit(history_chart(device, 0, history_end(device), kHistoryColumns), found));
  const size_t peak = device.peak();
  part.tables = {history_modules_table(history, device, peak),
                 history_tensors_table(history, device, peak, kMostTensors)};
  for (Table& table : part.tables) table.title += " at the peak";
  return part;
}

Part need_part(const Findings& found, const profiler::MemoryHistory& history,
               const profiler::DeviceHistory& device) {
  Part part;
  part.heading = "What Headroom would need";
  if (!found.need) {
    if (!found.need_remark.empty()) part.sentences.push_back(found.need_remark);
    return part;
  }
  for (std::string& sentence : need_sentences(*found.need, history.stacks, device, found.other_limit_bytes))
    part.sentences.push_back(std::move(sentence));
  part.tables.push_back(
      need_table(*found.need, found.other_limit_bytes ? found.other_limit_bytes : available_bytes(device)));
  return part;
}

}  // namespace

Section history_section(const Findings& found) {
  Section section{"Memory that PyTorch recorded", {}};
  for (const DocumentPtr& document : found.histories) {
    const auto& history = *document->as<profiler::MemoryHistory>();
    for (const profiler::DeviceHistory& device : history.devices) {
      if (!found.recorded_device.empty() && &device != &device_of(history, found.recorded_device)) continue;
      Part part = history_part(history, device, found);
      if (found.histories.size() > 1 || history.devices.size() > 1)
        part.heading = document->file.string() + ", " + device.device;
      section.parts.push_back(std::move(part));
    }
  }
  if (!found.histories.empty()) {
    const auto& first = *found.histories.front()->as<profiler::MemoryHistory>();
    section.parts.push_back(need_part(found, first, device_of(first, found.recorded_device)));
  }
  return section;
}

}  // namespace headroom::reports
