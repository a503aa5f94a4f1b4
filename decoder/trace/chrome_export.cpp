#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string_view>

#include "decoder/graph/text_streams.h"
#include "decoder/outputs/whole_file.h"
#include "decoder/plan/json_elements.h"
#include "decoder/trace/exports.h"

namespace headroom {
namespace {

using nlohmann::json;

/// Which processes of the format a trace becomes, and where its times begin.
struct Processes {
  int host = 1;
  int device = 2;
  std::string prefix{};  ///< of their names
  double offset_seconds = 0;
};

/// A rank has its own number; GPUs come after all ranks.
Processes processes_of(const Trace& trace) {
  if (!trace.rank) return {};
  const TraceRank& rank = *trace.rank;
  return {rank.rank, rank.ranks + rank.rank,
          "rank " + std::to_string(rank.rank) + ", rows " + std::to_string(rank.latent_rows.begin) + " to " +
              std::to_string(rank.latent_rows.end) + ": ",
          rank.clock_offset_seconds};
}

double microseconds(double seconds) {
  return seconds * 1e6;
}

/// Names are written as JSON once each; they come again for every tile.
std::string text_of(const std::string& name) {
  return json(name).dump();
}

class ChromeTrace {
 public:
  ChromeTrace(std::ostream& out, const Processes& of, const Plan& plan, const Graph& graph)
      : processes(of), out_(out), plan_(plan), graph_(graph), events_(out) {}

  void name_process(int process, const std::string& name) {
    events_.add({{"ph", "M"},
                 {"pid", process},
                 {"name", "process_name"},
                 {"args", {{"name", processes.prefix + name}}}});
    if (processes.prefix.empty()) return;
    // Viewers sort by name, and "rank 10" comes before "rank 2".
    events_.add(
        {{"ph", "M"}, {"pid", process}, {"name", "process_sort_index"}, {"args", {{"sort_index", process}}}});
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
                  track, at(begin_seconds), microseconds(end_seconds - begin_seconds));
    events_.add("%s", "{\"name\":");
    out_ << name << text << more << "}";
  }
  void counter(const char* name, double seconds, int64_t bytes) {
    events_.add("{\"name\":\"%s\",\"ph\":\"C\",\"pid\":%d,\"ts\":%.3f,\"args\":{\"bytes\":%ld}}", name,
                processes.host, at(seconds), bytes);
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

  const Processes processes;

 private:
  double at(double seconds) const { return microseconds(processes.offset_seconds + seconds); }

  std::ostream& out_;
  const Plan& plan_;
  const Graph& graph_;
  Elements events_;
  std::map<std::pair<int32_t, int32_t>, std::string> step_names_;
};

void write_intervals(const Trace& trace, const Plan& plan, ChromeTrace& chrome) {
  chrome.name_process(chrome.processes.host, "decode of " + trace.model);
  constexpr std::array<const char*, 3> kTracks{"passes", "tiles", "steps"};
  for (size_t track = 0; track < kTracks.size(); ++track)
    chrome.name_track(chrome.processes.host, static_cast<int>(track) + 1, kTracks[track]);
  std::vector<std::string> pass_names;
  for (const Pass& pass : plan.passes) pass_names.push_back(text_of(pass.name));
  for (const TraceInterval& pass : trace.passes)
    chrome.duration(pass_names[static_cast<size_t>(pass.pass)], chrome.processes.host, 1, pass.begin_seconds,
                    pass.end_seconds);
  for (const TraceInterval& tile : trace.tiles)
    chrome.duration("\"tile " + std::to_string(tile.tile) + "\"", chrome.processes.host, 2,
                    tile.begin_seconds, tile.end_seconds);
  for (const TraceInterval& step : trace.steps)
    chrome.duration(chrome.step_name(step.pass, step.step), chrome.processes.host, 3, step.begin_seconds,
                    step.end_seconds);
}

/// When a rank waited for others, and what it sent.
void write_exchanges(const Trace& trace, ChromeTrace& chrome) {
  if (!trace.rank) return;
  constexpr std::array<const char*, kExchangeCalls> kNames{"\"sends rows\"", "\"waits for rows\"",
                                                           "\"gathers of all ranks\""};
  constexpr int kTrack = 4;
  chrome.name_track(chrome.processes.host, kTrack, "other ranks");
  for (const TraceExchange& one : trace.rank->calls) {
    chrome.duration(kNames[static_cast<size_t>(one.call)], chrome.processes.host, kTrack, one.begin_seconds,
                    one.end_seconds, ",\"args\":{\"sent_bytes\":" + std::to_string(one.sent_bytes) + "}");
  }
}

/// What ran on the GPU, stream by stream, with the step that it was for.
void write_activities(const Trace& trace, ChromeTrace& chrome) {
  if (trace.activities.empty()) return;
  chrome.name_process(chrome.processes.device, trace.device);
  std::set<int32_t> streams;
  for (const TraceActivity& one : trace.activities) streams.insert(one.stream);
  for (int32_t stream : streams)
    chrome.name_track(chrome.processes.device, stream, "stream " + std::to_string(stream));
  std::vector<std::string> names;
  for (const std::string& name : trace.activity_names) names.push_back(text_of(name));
  for (const TraceActivity& one : trace.activities) {
    std::string more = ",\"args\":{\"bytes\":" + std::to_string(one.bytes);
    if (one.pass >= 0 && one.step >= 0) {
      more += ",\"step\":" + chrome.step_name(one.pass, one.step) + ",\"pass\":" + std::to_string(one.pass) +
              ",\"tile\":" + std::to_string(one.tile);
    }
    chrome.duration(names[static_cast<size_t>(one.name)], chrome.processes.device, one.stream,
                    one.begin_seconds, one.end_seconds, more + "}");
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

std::string chrome_events(const Trace& trace, const Plan& plan, const Graph& graph) {
  TextWriter out;
  ChromeTrace chrome(out, processes_of(trace), plan, graph);
  write_intervals(trace, plan, chrome);
  write_exchanges(trace, chrome);
  write_activities(trace, chrome);
  write_counters(trace, chrome);
  chrome.end();
  return out.str();
}

void write_chrome_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                        const Graph& graph) {
  write_chrome_trace(file, trace, {chrome_events(trace, plan, graph)});
}

void write_chrome_trace(const std::filesystem::path& file, const Trace& first,
                        const std::vector<std::string>& events) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"displayTimeUnit\":\"ms\",\"otherData\":"
        << json{{"model", first.model}, {"device", first.device}, {"libraries", first.libraries}}.dump()
        << ",\n\"traceEvents\":";
    // The arrays as one: without the bracket that ends the one and that which begins the next.
    for (size_t i = 0; i < events.size(); ++i) {
      const bool is_first = i == 0, is_last = i + 1 == events.size();
      const size_t begin = is_first ? 0 : 1, end = events[i].size() - (is_last ? 0 : 1);
      out << (is_first ? "" : ",") << std::string_view(events[i]).substr(begin, end - begin);
    }
    out << "}\n";
  });
}

}  // namespace headroom
