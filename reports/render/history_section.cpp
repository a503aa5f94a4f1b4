#include <utility>

#include "reports/figures/history.h"
#include "reports/render/sections.h"
#include "reports/render/sentences.h"

namespace headroom::reports {
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

Part need_part(const Findings& found, const profiler::DeviceHistory& device) {
  Part part;
  part.heading = "What Headroom would need";
  if (!found.need) {
    if (!found.need_remark.empty()) part.sentences.push_back(found.need_remark);
    return part;
  }
  for (std::string& sentence : need_sentences(*found.need, device, found.other_limit_bytes))
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
    section.parts.push_back(need_part(found, device_of(first, found.recorded_device)));
  }
  return section;
}

}  // namespace headroom::reports
