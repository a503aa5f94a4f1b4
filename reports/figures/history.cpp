#include "reports/figures/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/families/families.h"
#include "profiler/history/code_stacks.h"
#include "profiler/history/memory_history.h"

namespace headroom::reports {
namespace {

using profiler::DeviceHistory;
using profiler::Fragmentation;
using profiler::MemoryHistory;
using profiler::RecordedAllocation;
using profiler::RecordedRefusal;

constexpr const char* kBefore = "allocated before the recording";
constexpr const char* kUnknown = "no stack recorded";
constexpr size_t kSaidPlaces = 3;

std::string bytes_of(int64_t bytes) {
  return format(Unit::bytes, double(bytes));
}

std::string joined(const std::vector<std::string>& parts, size_t from, const std::string& separator = " / ") {
  std::string text;
  for (size_t i = from; i < parts.size(); ++i) text += (i == from ? "" : separator) + parts[i];
  return text;
}

/// Allocated bytes without a recorded allocation.
int64_t unrecorded_bytes(const DeviceHistory& device, size_t moment,
                         const std::vector<const RecordedAllocation*>& live) {
  const int64_t known = std::accumulate(live.begin(), live.end(), int64_t{0},
                                        [](int64_t sum, const auto* one) { return sum + one->bytes; });
  return std::max<int64_t>(0, device.allocated_bytes[moment] - known);
}

/// `one` is a RecordedAllocation or a LiveStack.
template <typename Allocated>
std::string place_text(const MemoryHistory& history, const Allocated& one) {
  std::string place = profiler::place_of(history.stacks, one.stack);
  if (!place.empty()) return place;
  return one.before_recording ? kBefore : kUnknown;
}

std::string when(const DeviceHistory& device, size_t moment) {
  if (device.seconds.empty()) return "at record " + std::to_string(moment);
  return format(Unit::seconds, device.seconds[moment]) + " into the recording";
}

/// Number of leading elements that all paths share. Leaves at least one element of each path.
size_t common_beginning(const std::map<std::vector<std::string>, std::pair<int64_t, int64_t>>& paths) {
  std::optional<size_t> common;
  const std::vector<std::string>* first = nullptr;
  for (const auto& [path, sums] : paths) {
    if (path.empty()) continue;
    if (first == nullptr) first = &path;
    size_t same = 0;
    while (same + 1 < path.size() && same < first->size() && path[same] == (*first)[same]) ++same;
    common = std::min(common.value_or(same), same);
  }
  return common.value_or(0);
}

std::string peak_sentence(const DeviceHistory& device, size_t peak) {
  std::string text = "The peak on " + device.device + ", " + when(device, peak) + ": " +
                     bytes_of(device.allocated_bytes[peak]) + " allocated";
  if (device.reserved_bytes.empty()) return text + ".";
  const int64_t slack = device.reserved_bytes[peak] - device.allocated_bytes[peak];
  return text + " of " + bytes_of(device.reserved_bytes[peak]) + " reserved, so " + bytes_of(slack) +
         " of allocator slack.";
}

/// "upsampling.py:170 forward (interpolate)". Empty if no stack was recorded.
std::string asked_by(const MemoryHistory& history, profiler::StackId stack) {
  const std::string place = profiler::place_of(history.stacks, stack);
  const std::vector<std::string> path = profiler::module_path(history.stacks, stack);
  const bool says_more = !path.empty() && path.back().find(':') == std::string::npos;
  return says_more ? place + " (" + path.back() + ")" : place;
}

/// Tensors of one place add up here, also if their whole stacks differ.
std::string largest_sentence(const MemoryHistory& history, const DeviceHistory& device, size_t peak) {
  std::vector<std::pair<std::string, LiveStack>> places;
  for (const LiveStack& one : live_stacks(device, peak)) {
    const std::string place = one.stack == 0 ? place_text(history, one) : asked_by(history, one.stack);
    auto same =
        std::find_if(places.begin(), places.end(), [&](const auto& other) { return other.first == place; });
    if (same == places.end()) same = places.insert(places.end(), {place, LiveStack{}});
    same->second.bytes += one.bytes;
    same->second.tensors += one.tensors;
  }
  if (places.empty()) return "";
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::string text = "Live then: ";
  int64_t others = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [place, sum] = places[i];
    if (i >= kSaidPlaces) {
      others += sum.tensors;
      continue;
    }
    text += (i == 0 ? "" : ", ") + bytes_of(sum.bytes) + " of " + place;
    if (sum.tensors > 1) text += " in " + std::to_string(sum.tensors) + " tensors";
  }
  if (others > 0) text += " and " + counted(others, "other tensor", "other tensors");
  return text + ".";
}

std::string last_sentence(const MemoryHistory& history, const DeviceHistory& device) {
  const std::optional<LastRequest> last = last_request(device);
  if (!last) return "";
  std::string who = asked_by(history, last->stack);
  if (who.empty()) who = "something that recorded no stack";
  if (!last->refused) {
    return "No request failed. The last request came from " + who + ", for " + bytes_of(last->bytes) + ", " +
           when(device, last->moment) + ".";
  }
  std::string text = "Out of memory " + when(device, last->moment) + ": " + who + " asked for " +
                     bytes_of(last->bytes) + ", with " + bytes_of(device.allocated_bytes[last->moment]) +
                     " allocated";
  if (!device.reserved_bytes.empty())
    text += ", " + bytes_of(device.reserved_bytes[last->moment]) + " reserved";
  if (last->free_bytes) text += " and " + bytes_of(*last->free_bytes) + " free on the device";
  return text + ".";
}

std::string fragmentation_sentence(const DeviceHistory& device, size_t moment, const std::string& at) {
  const std::optional<Fragmentation> lost = fragmentation_at(device, moment);
  if (!lost) return "";
  std::string text = "Reserved and free " + at + ": " + bytes_of(lost->inactive_split_bytes) +
                     " in segments that also hold tensors, which PyTorch cannot return to the device, and " +
                     bytes_of(lost->releasable_bytes) + " in empty segments. The largest free block had " +
                     bytes_of(lost->largest_free_bytes) + ".";
  if (lost->rounding_bytes > 0)
    text += " PyTorch had rounded requests up, by " + bytes_of(lost->rounding_bytes) + " in all.";
  return text;
}

/// Bytes that the last refused request lacked even if all free memory were contiguous. 0: only fragmentation
/// made it fail. Nothing if the recording does not say.
std::optional<int64_t> missing_bytes(const DeviceHistory& device) {
  if (device.refusals.empty() || !device.refusals.back().free_bytes) return std::nullopt;
  const RecordedRefusal& refused = device.refusals.back();
  const std::optional<Fragmentation> lost = fragmentation_at(device, refused.moment);
  if (!lost) return std::nullopt;
  const int64_t free = lost->inactive_split_bytes + lost->releasable_bytes + *refused.free_bytes;
  return std::max<int64_t>(0, refused.asked_bytes - free);
}

std::string fragmented_sentence(const DeviceHistory& device) {
  const std::optional<int64_t> missing = missing_bytes(device);
  if (!missing) return "";
  if (*missing == 0)
    return "The cause is fragmentation: the free memory was large enough in all, but in several pieces.";
  return "Fragmentation is not the cause: even one piece of all free memory would be " + bytes_of(*missing) +
         " too small.";
}

std::string before_sentence(const DeviceHistory& device) {
  if (device.moments() < 2 || device.allocated_bytes[0] == 0) return "";
  return bytes_of(device.allocated_bytes[0]) + " were allocated before the recording began.";
}

/// A column and its highest moment, including the moment that holds at its start.
struct ColumnPoint {
  double x = 0, allocated = 0, reserved = 0;
};
std::vector<ColumnPoint> columns_of(const DeviceHistory& device, double begin, double end, size_t columns) {
  const auto reserved = [&](size_t i) {
    return device.reserved_bytes.empty() ? 0.0 : double(device.reserved_bytes[i]);
  };
  const size_t first = history_moment(device, begin), last = history_moment(device, end);
  std::vector<ColumnPoint> points;
  if (last - first < columns) {
    for (size_t i = first; i <= last; ++i)
      points.push_back(
          {std::max(begin, history_place(device, i)), double(device.allocated_bytes[i]), reserved(i)});
  } else {
    size_t i = first;
    for (size_t column = 0; column < columns; ++column) {
      const double left = begin + (end - begin) * double(column) / double(columns);
      const double right = begin + (end - begin) * double(column + 1) / double(columns);
      ColumnPoint point{left, double(device.allocated_bytes[i]), reserved(i)};
      while (i < last && history_place(device, i + 1) < right) {
        ++i;
        point.allocated = std::max(point.allocated, double(device.allocated_bytes[i]));
        point.reserved = std::max(point.reserved, reserved(i));
      }
      points.push_back(point);
    }
  }
  points.push_back({end, double(device.allocated_bytes[last]), reserved(last)});
  return points;
}

std::string class_sentence(const MemoryHistory& history, const DeviceHistory& device) {
  const std::optional<profiler::DecodingClass> found = profiler::decoding_class(history.stacks, device);
  if (!found) return "";
  std::string text = found->name + ".decode is in the stacks of " +
                     counted(found->allocations, "allocation", "allocations") + ".";
  const std::vector<std::string> models = recognised_models(history, device);
  return models.empty() ? text : text + " Built-in models of this class: " + joined(models, 0, ", ") + ".";
}

}  // namespace

const DeviceHistory& device_of(const MemoryHistory& history, const std::string& name) {
  if (name.empty()) return history.devices[history.main_device()];
  std::string names;
  for (const DeviceHistory& device : history.devices) {
    if (device.device == name) return device;
    names += (names.empty() ? "" : ", ") + device.device;
  }
  throw InputError("--recorded-device: expected one of " + names + ", found " + printable(name));
}

std::optional<LastRequest> last_request(const DeviceHistory& device) {
  if (!device.refusals.empty()) {
    const RecordedRefusal& refused = device.refusals.back();
    return LastRequest{refused.moment, refused.asked_bytes, refused.stack, true, refused.free_bytes};
  }
  const size_t last = device.asked_last();
  for (const RecordedAllocation& one : device.allocations) {
    if (last > 0 && one.begin == last) return LastRequest{last, one.bytes, one.stack, false, {}};
  }
  return std::nullopt;
}

std::vector<LiveStack> live_stacks(const DeviceHistory& device, size_t moment) {
  std::map<std::pair<profiler::StackId, bool>, LiveStack> sums;
  for (const RecordedAllocation* one : device.live_at(moment)) {
    LiveStack& sum = sums.try_emplace({one->stack, one->before_recording},
                                      LiveStack{one->stack, one->before_recording, 0, 0, one->begin})
                         .first->second;
    sum.bytes += one->bytes;
    ++sum.tensors;
    sum.first = std::min<size_t>(sum.first, one->begin);
  }
  std::vector<LiveStack> stacks;
  stacks.reserve(sums.size());
  for (const auto& [key, sum] : sums) stacks.push_back(sum);
  std::sort(stacks.begin(), stacks.end(), [](const LiveStack& a, const LiveStack& b) {
    return std::tie(b.bytes, a.first, a.stack) < std::tie(a.bytes, b.first, b.stack);
  });
  return stacks;
}

std::vector<std::string> recognised_models(const MemoryHistory& history, const DeviceHistory& device) {
  std::vector<std::string> names;
  if (const auto found = profiler::decoding_class(history.stacks, device)) {
    for (const BuiltIn& model : family_of(found->name).built_ins) names.emplace_back(model.name);
  }
  return names;
}

std::string likely_model(const MemoryHistory& history, const DeviceHistory& device) {
  // A recording cannot tell models with equal layers apart, and SDXL is the most common of them.
  constexpr const char* kMostCommon = "sdxl";
  const std::vector<std::string> models = recognised_models(history, device);
  if (models.empty()) return "";
  return std::find(models.begin(), models.end(), kMostCommon) == models.end() ? models.front() : kMostCommon;
}

double history_place(const DeviceHistory& device, size_t moment) {
  return device.seconds.empty() ? double(moment) : device.seconds[moment];
}

double history_end(const DeviceHistory& device) {
  constexpr double kMargin = 1.03;
  return kMargin * history_place(device, device.moments() - 1);
}

size_t history_moment(const DeviceHistory& device, double x) {
  const size_t last = device.moments() - 1;
  if (!(x > 0)) return 0;
  if (device.seconds.empty()) return x >= double(last) ? last : static_cast<size_t>(std::floor(x));
  const auto after = std::upper_bound(device.seconds.begin(), device.seconds.end(), x);
  return after == device.seconds.begin() ? 0 : static_cast<size_t>(after - device.seconds.begin()) - 1;
}

Chart history_chart(const DeviceHistory& device, double begin, double end, size_t columns) {
  Chart chart;
  chart.title = "Memory of " + device.device;
  chart.x = device.seconds.empty() ? ChartAxis{"record", Unit::none} : ChartAxis{"time", Unit::seconds};
  chart.y = {"memory", Unit::bytes};
  end = std::min(end, history_end(device));
  if (begin > end) return chart;
  Series allocated{"allocated", Mark::area, ColourRole::tile, {}, {}};
  Series reserved{"reserved", Mark::steps, ColourRole::driver, {}, {}};
  for (const ColumnPoint& point : columns_of(device, begin, end, std::max<size_t>(1, columns))) {
    for (Series* series : {&allocated, &reserved}) series->x.push_back(point.x);
    allocated.y.push_back(point.allocated);
    reserved.y.push_back(point.reserved);
  }
  chart.series.push_back(std::move(allocated));
  if (!device.reserved_bytes.empty()) chart.series.push_back(std::move(reserved));
  const size_t peak = device.peak();
  const double at = history_place(device, peak);
  if (at >= begin && at <= end) {
    const auto bytes = double(device.allocated_bytes[peak]);
    chart.notes.push_back({at, bytes, "peak " + format(Unit::bytes, bytes)});
  }
  if (!device.refusals.empty()) {
    const RecordedRefusal& refused = device.refusals.back();
    const double place = history_place(device, refused.moment);
    if (place >= begin && place <= end)
      chart.guides.push_back({"out of memory: asked for " + bytes_of(refused.asked_bytes), place, true});
  }
  return chart;
}

Table history_tensors_table(const MemoryHistory& history, const DeviceHistory& device, size_t moment,
                            size_t most) {
  Table table{"Live tensors", {}, {}};
  table.columns = {
      {.title = "asked for by", .is_text = true, .explanation = "The innermost line outside torch."},
      {.title = "for",
       .is_text = true,
       .explanation = "The function of torch or the module that was running."},
      {.title = "memory", .unit = Unit::bytes, .bars = true},
      {.title = "tensors", .explanation = "Tensors with the same stack."},
      {.title = "share", .unit = Unit::share, .explanation = "Share of all memory allocated at that moment."},
      {.title = "since", .unit = Unit::seconds, .explanation = "When the first of them was allocated."}};
  const std::vector<LiveStack> stacks = live_stacks(device, moment);
  const auto all = double(std::max<int64_t>(1, device.allocated_bytes[moment]));
  const auto add = [&](std::string place, std::string of, int64_t bytes, Cell tensors, Cell since) {
    table.rows.push_back({{std::move(place), std::move(of), double(bytes), std::move(tensors),
                           double(bytes) / all, std::move(since)},
                          false});
  };
  int64_t bytes_of_others = 0, others = 0;
  for (size_t i = 0; i < stacks.size(); ++i) {
    const LiveStack& one = stacks[i];
    if (i >= most) {
      bytes_of_others += one.bytes;
      others += one.tensors;
      continue;
    }
    const std::vector<std::string> path = profiler::module_path(history.stacks, one.stack);
    const bool timed = !device.seconds.empty() && !one.before_recording;
    const bool says_more = !path.empty() && path.back().find(':') == std::string::npos;
    add(place_text(history, one), says_more ? path.back() : "", one.bytes, double(one.tensors),
        timed ? Cell(device.seconds[one.first]) : Cell());
  }
  if (bytes_of_others > 0)
    add(counted(others, "other tensor", "other tensors"), "", bytes_of_others, double(others), {});
  if (const int64_t unknown = unrecorded_bytes(device, moment, device.live_at(moment)); unknown > 0)
    add(kBefore, "", unknown, {}, {});
  return table;
}

Table history_modules_table(const MemoryHistory& history, const DeviceHistory& device, size_t moment) {
  Table table{"Live memory by module", {}, {}};
  table.columns = {
      {.title = "module",
       .is_text = true,
       .explanation = "Path of calls, outermost first. The beginning that all paths share is left out."},
      {.title = "tensors"},
      {.title = "memory", .unit = Unit::bytes, .bars = true},
      {.title = "share",
       .unit = Unit::share,
       .explanation = "Share of all memory allocated at that moment."}};
  const std::vector<const RecordedAllocation*> live = device.live_at(moment);
  std::map<std::vector<std::string>, std::pair<int64_t, int64_t>> paths;  // bytes and tensors
  std::pair<int64_t, int64_t> before{unrecorded_bytes(device, moment, live), 0};
  for (const RecordedAllocation* one : live) {
    auto& sums = one->stack == 0 && one->before_recording
                     ? before
                     : paths[profiler::module_path(history.stacks, one->stack)];
    sums.first += one->bytes;
    ++sums.second;
  }
  const size_t common = common_beginning(paths);
  const auto all = double(std::max<int64_t>(1, device.allocated_bytes[moment]));
  const auto add = [&](std::string name, const std::pair<int64_t, int64_t>& sums) {
    table.rows.push_back({{std::move(name), sums.second > 0 ? Cell(double(sums.second)) : Cell(),
                           double(sums.first), double(sums.first) / all},
                          false});
  };
  for (const auto& [path, sums] : paths) add(path.empty() ? kUnknown : joined(path, common), sums);
  if (before.first > 0) add(kBefore, before);
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const Row& a, const Row& b) {
    return std::get<double>(a.cells[2]) > std::get<double>(b.cells[2]);
  });
  return table;
}

std::vector<std::string> history_sentences(const MemoryHistory& history, const DeviceHistory& device) {
  const size_t peak = device.peak(), last = device.asked_last();
  std::vector<std::string> sentences{peak_sentence(device, peak), largest_sentence(history, device, peak),
                                     last_sentence(history, device)};
  if (device.refusals.empty()) {
    sentences.push_back(fragmentation_sentence(device, peak, "at the peak"));
  } else {
    sentences.push_back(fragmentation_sentence(device, last, "then"));
    sentences.push_back(fragmented_sentence(device));
  }
  sentences.push_back(before_sentence(device));
  sentences.push_back(class_sentence(history, device));
  std::erase(sentences, "");
  return sentences;
}

std::optional<int64_t> available_bytes(const DeviceHistory& device) {
  if (device.refusals.empty() || !device.refusals.back().free_bytes || device.reserved_bytes.empty())
    return std::nullopt;
  const RecordedRefusal& refused = device.refusals.back();
  return device.reserved_bytes[refused.moment] + *refused.free_bytes;
}

}  // namespace headroom::reports
