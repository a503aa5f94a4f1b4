#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "decoder/files/gzip_text.h"
#include "decoder/graph/errors.h"
#include "decoder/outputs/printable.h"
#include "profiler/history/history_replay.h"
#include "profiler/history/memory_history.h"

namespace headroom::profiler {
namespace {

using Action = MemoryRecord::Action;
using Json = nlohmann::json;

constexpr size_t kLongestName = 1000;

/// What an event of the trace says, as far as it matters here.
struct TraceFields {
  std::string name, phase, category, thread;
  double at_us = 0, lasts_us = 0;
  std::optional<int64_t> address, bytes, device_type, device, total_allocated, total_reserved;
};

struct CallSpan {
  double begin_us = 0, end_us = 0;
  uint32_t name = 0;
};
struct MemoryEvent {
  double at_us = 0;
  MemoryRecord record;
};

/// Everything of a trace that has to do with memory.
struct GatheredTrace {
  std::map<std::string, std::vector<CallSpan>> calls;  ///< by thread
  std::vector<std::string> names;
  std::map<std::string, uint32_t> name_numbers;
  /// By device and thread.
  std::map<std::string, std::map<std::string, std::vector<MemoryEvent>>> memory;
};

/// "cpu", "cuda:1". The numbers are those of c10::DeviceType.
std::string device_name(int64_t type, int64_t index) {
  static const std::map<int64_t, std::string> kNames{{0, "cpu"}, {1, "cuda"}, {12, "xpu"}, {13, "mps"}};
  const auto found = kNames.find(type);
  const std::string name = found == kNames.end() ? "device type " + std::to_string(type) : found->second;
  return index < 0 ? name : name + ":" + std::to_string(index);
}

/// Receives the trace event by event, without a tree of it.
class TraceGatherer : public Json::json_sax_t {
 public:
  TraceGatherer(GatheredTrace& trace, std::string origin) : trace_(trace), origin_(std::move(origin)) {}

  bool found_events() const { return found_events_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t value) override { return number(double(value), value); }
  bool number_unsigned(uint64_t value) override { return number(double(value), static_cast<int64_t>(value)); }
  bool number_float(double value, const std::string&) override { return number(value, std::nullopt); }
  bool string(std::string& text) override {
    if (depth_ != kEventDepth || !in_events_) return true;
    if (key_ == "name") event_.name = text.substr(0, kLongestName);
    if (key_ == "ph") event_.phase = text;
    if (key_ == "cat") event_.category = text;
    if (key_ == "tid" || key_ == "pid") event_.thread += " " + text.substr(0, kLongestName);
    return true;
  }
  bool binary(Json::binary_t&) override { return true; }

  bool start_object(size_t) override {
    ++depth_;
    if (in_events_ && depth_ == kEventDepth) event_ = {};
    return true;
  }
  bool end_object() override {
    if (in_events_ && depth_ == kEventDepth) keep();
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    ++depth_;
    if (depth_ == 2 && key_ == "traceEvents") in_events_ = found_events_ = true;
    return true;
  }
  bool end_array() override {
    --depth_;
    if (depth_ == 1) in_events_ = false;
    return true;
  }
  bool key(std::string& text) override {
    // Of what is nested in an event, only its arguments matter.
    if (depth_ == kEventDepth + 1 && in_events_) {
      in_arguments_ = key_of_event_ == "args";
    } else if (depth_ == kEventDepth) {
      key_of_event_ = text.substr(0, kLongestName);
    }
    key_ = text.substr(0, kLongestName);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    throw InputError(origin_ + ": not valid JSON at byte " + std::to_string(position));
  }

 private:
  static constexpr int64_t kEventDepth = 3;  ///< the file, its list of events, an event

  bool number(double value, std::optional<int64_t> whole) {
    if (!in_events_) return true;
    if (depth_ == kEventDepth) {
      if (key_ == "ts") event_.at_us = value;
      if (key_ == "dur") event_.lasts_us = value;
      if ((key_ == "tid" || key_ == "pid") && whole) event_.thread += " " + std::to_string(*whole);
    } else if (depth_ == kEventDepth + 1 && in_arguments_ && whole) {
      if (key_ == "Addr") event_.address = whole;
      if (key_ == "Bytes") event_.bytes = whole;
      if (key_ == "Device Type") event_.device_type = whole;
      if (key_ == "Device Id") event_.device = whole;
      if (key_ == "Total Allocated") event_.total_allocated = whole;
      if (key_ == "Total Reserved") event_.total_reserved = whole;
    }
    return true;
  }

  void keep() {
    if (event_.name == "[memory]" || event_.name == "[OutOfMemory]") return keep_memory();
    const bool call =
        event_.phase == "X" && (event_.category == "python_function" || event_.category == "cpu_op" ||
                                event_.category == "user_annotation");
    if (!call || !(event_.lasts_us >= 0)) return;
    const auto [name, is_new] =
        trace_.name_numbers.try_emplace(event_.name, static_cast<uint32_t>(trace_.names.size()));
    if (is_new) trace_.names.push_back(event_.name);
    trace_.calls[event_.thread].push_back({event_.at_us, event_.at_us + event_.lasts_us, name->second});
  }

  void keep_memory() {
    const auto bounded = [&](const char* what, std::optional<int64_t> value) {
      if (value && *value >= -kMostRecordedBytes && *value <= kMostRecordedBytes) return *value;
      throw InputError(origin_ + ": " + event_.name + ": args: " + what +
                       ": expected an integer below 2^50, found " +
                       (value ? std::to_string(*value) : "none"));
    };
    MemoryEvent kept;
    kept.at_us = event_.at_us;
    kept.record.seconds = event_.at_us * 1e-6;
    const int64_t bytes = bounded("Bytes", event_.bytes);
    kept.record.bytes = std::abs(bytes);
    kept.record.action = event_.name != "[memory]" ? Action::refused
                         : bytes < 0               ? Action::free
                                                   : Action::alloc;
    kept.record.address = static_cast<uint64_t>(event_.address.value_or(0));
    if (event_.total_allocated)
      kept.record.total_allocated_bytes =
          std::max<int64_t>(0, bounded("Total Allocated", event_.total_allocated));
    if (event_.total_reserved)
      kept.record.total_reserved_bytes =
          std::max<int64_t>(0, bounded("Total Reserved", event_.total_reserved));
    const std::string device = device_name(event_.device_type.value_or(0), event_.device.value_or(-1));
    if (trace_.memory.size() == kMostDevices && !trace_.memory.contains(device))
      throw InputError(origin_ + ": traceEvents: expected at most 1024 devices, found more");
    trace_.memory[device][event_.thread].push_back(kept);
  }

  GatheredTrace& trace_;
  std::string origin_;
  TraceFields event_;
  std::string key_, key_of_event_;
  int64_t depth_ = 0;
  bool in_events_ = false, in_arguments_ = false, found_events_ = false;
};

/// "torch/nn/modules/conv.py(553): forward", "nn.Module: Conv2d_0" or "aten::conv2d".
CodeFrame frame_named(const std::string& name) {
  constexpr std::string_view kModule = "nn.Module: ";
  if (name.starts_with(kModule)) return {CodeFrame::Kind::module, "", name.substr(kModule.size()), 0};
  const size_t colon = name.find("): "), bracket = name.rfind('(', colon);
  if (colon != std::string::npos && bracket != std::string::npos) {
    int64_t line = 0;
    const auto [end, error] = std::from_chars(name.data() + bracket + 1, name.data() + colon, line);
    if (error == std::errc() && end == name.data() + colon)
      return {CodeFrame::Kind::code, name.substr(0, bracket), name.substr(colon + 3), line};
  }
  return {CodeFrame::Kind::native, "", name, 0};
}

/// The calls of one thread that each of its events lies within.
void add_stacks(std::vector<MemoryEvent>& events, std::vector<CallSpan>& calls,
                const std::vector<CodeFrame>& frames, CodeStacks& stacks) {
  std::stable_sort(calls.begin(), calls.end(), [](const CallSpan& a, const CallSpan& b) {
    return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us > b.end_us;
  });
  std::stable_sort(events.begin(), events.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.at_us < b.at_us; });
  std::vector<std::pair<double, StackId>> open;  // of each call its end, and the stack with it on top
  size_t next = 0;
  for (MemoryEvent& event : events) {
    for (; next < calls.size() && calls[next].begin_us <= event.at_us; ++next) {
      while (!open.empty() && open.back().first <= calls[next].begin_us) open.pop_back();
      const StackId below = open.empty() ? 0 : open.back().second;
      open.emplace_back(calls[next].end_us, stacks.push(below, frames[calls[next].name]));
    }
    while (!open.empty() && open.back().first < event.at_us) open.pop_back();
    event.record.stack = open.empty() ? 0 : open.back().second;
  }
}

std::vector<MemoryRecord> in_order(const std::map<std::string, std::vector<MemoryEvent>>& threads) {
  std::vector<MemoryRecord> records;
  for (const auto& [thread, events] : threads) {
    for (const MemoryEvent& event : events) records.push_back(event.record);
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const MemoryRecord& a, const MemoryRecord& b) { return a.seconds < b.seconds; });
  return records;
}

}  // namespace

MemoryHistory read_profiler_trace(const std::filesystem::path& file) {
  GatheredTrace trace;
  TraceGatherer gatherer(trace, file.string());
  Json::sax_parse(*open_json_text(file, {.most_bytes = kMostTraceBytes}), &gatherer);
  if (!gatherer.found_events()) throw InputError(file.string() + ": traceEvents: missing");
  if (trace.memory.empty()) {
    throw InputError(file.string() +
                     ": traceEvents: expected events of memory, found none; record them with "
                     "torch.profiler.profile(profile_memory=True, with_stack=True)");
  }
  std::vector<CodeFrame> frames;
  for (const std::string& name : trace.names) frames.push_back(frame_named(name));
  MemoryHistory history;
  history.source = "trace of PyTorch's profiler";
  for (auto& [device, threads] : trace.memory) {
    for (auto& [thread, events] : threads) add_stacks(events, trace.calls[thread], frames, history.stacks);
    history.devices.push_back(replay(device, in_order(threads), {}, file.string()));
  }
  return history;
}

}  // namespace headroom::profiler
