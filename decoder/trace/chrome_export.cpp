#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/graph/json_fields.h"
#include "decoder/plan/json_elements.h"
#include "decoder/trace/exports.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int kHost = 1, kDevice = 2;  // processes of the format

double microseconds(double seconds) {
  return seconds * 1e6;
}

/// Names are written as JSON once each; they come again for every tile.
std::string text_of(const std::string& name) {
  return json(name).dump();
}

class ChromeTrace {
 public:
  ChromeTrace(std::ostream& out, const Plan& plan, const Graph& graph)
      : out_(out), plan_(plan), graph_(graph), events_(out) {}

  void name_process(int process, const std::string& name) {
    events_.add({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
  }
  void name_track(int process, int track, const std::string& name) {
    events_.add(
        {{"ph", "M"}, {"pid", process}, {"tid", track}, {"name", "thread_name"}, {"args", {{"name", name}}}});
  }
  /// `name` as JSON; `more` too, with a comma before it.
  void duration(const std::string& name, int process, int track, double begin_seconds, double end_seconds,
                const std::string& more = "") {
    char text[160];
    std::snprintf(text, sizeof text, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f", process,
                  track, microseconds(begin_seconds), microseconds(end_seconds - begin_seconds));
    events_.add("%s", "{\"name\":");
    out_ << name << text << more << "}";
  }
  void counter(const char* name, double seconds, int64_t bytes) {
    events_.add("{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"args\":{\"bytes\":%ld}}", name,
                microseconds(seconds), bytes);
  }
  void end() { events_.end(); }

  /// As JSON: "conv decoder.conv_in".
  const std::string& step_name(int32_t pass, int32_t number) {
    std::string& name = step_names_[{pass, number}];
    if (name.empty()) {
      const Step& step = plan_.passes[static_cast<size_t>(pass)].steps[static_cast<size_t>(number)];
      name = text_of(std::string(name_of(step.kind)) + " " + graph_.tensor(step.tensor).name);
    }
    return name;
  }

 private:
  std::ostream& out_;
  const Plan& plan_;
  const Graph& graph_;
  Elements events_;
  std::map<std::pair<int32_t, int32_t>, std::string> step_names_;
};

void write_intervals(const Trace& trace, const Plan& plan, ChromeTrace& chrome) {
  chrome.name_process(kHost, "decode of " + trace.model);
  constexpr std::array<const char*, 3> kTracks{"passes", "tiles", "steps"};
  for (size_t track = 0; track < kTracks.size(); ++track)
    chrome.name_track(kHost, static_cast<int>(track) + 1, kTracks[track]);
  std::vector<std::string> pass_names;
  for (const Pass& pass : plan.passes) pass_names.push_back(text_of(pass.name));
  for (const TraceInterval& pass : trace.passes)
    chrome.duration(pass_names[static_cast<size_t>(pass.pass)], kHost, 1, pass.begin_seconds,
                    pass.end_seconds);
  for (const TraceInterval& tile : trace.tiles)
    chrome.duration("\"tile " + std::to_string(tile.tile) + "\"", kHost, 2, tile.begin_seconds,
                    tile.end_seconds);
  for (const TraceInterval& step : trace.steps)
    chrome.duration(chrome.step_name(step.pass, step.step), kHost, 3, step.begin_seconds, step.end_seconds);
}

/// What ran on the GPU, stream by stream, with the step that it was for.
void write_activities(const Trace& trace, ChromeTrace& chrome) {
  if (trace.activities.empty()) return;
  chrome.name_process(kDevice, trace.device);
  std::set<int32_t> streams;
  for (const TraceActivity& one : trace.activities) streams.insert(one.stream);
  for (int32_t stream : streams) chrome.name_track(kDevice, stream, "stream " + std::to_string(stream));
  std::vector<std::string> names;
  for (const std::string& name : trace.activity_names) names.push_back(text_of(name));
  for (const TraceActivity& one : trace.activities) {
    std::string more = ",\"args\":{\"bytes\":" + std::to_string(one.bytes);
    if (one.pass >= 0 && one.step >= 0) {
      more += ",\"step\":" + chrome.step_name(one.pass, one.step) + ",\"pass\":" + std::to_string(one.pass) +
              ",\"tile\":" + std::to_string(one.tile);
    }
    chrome.duration(names[static_cast<size_t>(one.name)], kDevice, one.stream, one.begin_seconds,
                    one.end_seconds, more + "}");
  }
}

void write_counters(const Trace& trace, ChromeTrace& chrome) {
  KindBytes live{};
  for (const TraceEvent& event : trace.events) {
    apply(event, live);
    chrome.counter(key_of(event.kind), event.seconds, live[static_cast<size_t>(event.kind)]);
    if (event.slack_bytes == 0) continue;
    chrome.counter(key_of(MemoryKind::slack), event.seconds, live[static_cast<size_t>(MemoryKind::slack)]);
  }
  for (const OutsideSample& sample : trace.outside) chrome.counter("outside", sample.seconds, sample.bytes);
  for (const DriverSample& sample : trace.driver)
    chrome.counter("counted by the driver", sample.seconds, sample.bytes);
}

}  // namespace

void write_chrome_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                        const Graph& graph) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"displayTimeUnit\":\"ms\",\"otherData\":"
        << json{{"model", trace.model}, {"device", trace.device}, {"libraries", trace.libraries}}.dump()
        << ",\n\"traceEvents\":";
    ChromeTrace chrome(out, plan, graph);
    write_intervals(trace, plan, chrome);
    write_activities(trace, chrome);
    write_counters(trace, chrome);
    chrome.end();
    out << "}\n";
  });
}

}  // namespace headroom
