#include "decoder/plan/trace_file.h"

#include <array>
#include <cstdio>
#include <map>
#include <ostream>

#include "decoder/graph/json_fields.h"

namespace headroom {
namespace {

using nlohmann::json;

/// Writes the elements of an array one by one.
class Elements {
 public:
  explicit Elements(std::ostream& out) : out_(out) { out_ << "["; }
  template <typename... Values>
  void add(const char* format, Values... values) {
    char text[256];
    const int length = std::snprintf(text, sizeof text, format, values...);
    out_ << (first_ ? "\n" : ",\n");
    out_.write(text, length);
    first_ = false;
  }
  void add(const json& value) {
    out_ << (first_ ? "\n" : ",\n") << value.dump();
    first_ = false;
  }
  void end() { out_ << "\n]"; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

std::string step_name(const Plan& plan, const Graph& graph, const TraceInterval& interval) {
  const Step& step =
      plan.passes[static_cast<size_t>(interval.pass)].steps[static_cast<size_t>(interval.step)];
  return std::string(name_of(step.kind)) + " " + graph.tensor(step.tensor).name;
}

double microseconds(double seconds) {
  return seconds * 1e6;
}

}  // namespace

const char* name_of(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::weights:
      return "weights";
    case AllocationKind::latent:
      return "latent";
    case AllocationKind::kept:
      return "kept";
    case AllocationKind::tile:
      return "tile";
    case AllocationKind::workspace:
      return "workspace";
  }
  return "workspace";
}

void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                 const Graph& graph) {
  write_file_whole(file, [&](std::ostream& out) {
    json head{{"schema", "headroom.trace"},
              {"version", kTraceVersion},
              {"model", trace.model},
              {"device", trace.device},
              {"libraries", trace.libraries},
              {"limit_bytes", trace.limit_bytes},
              {"seconds", trace.seconds},
              {"tiles_left_out", trace.tiles_left_out},
              {"steps_left_out", trace.steps_left_out},
              {"event_fields", {"seconds", "kind", "layer", "pass", "tile", "bytes"}},
              {"tile_fields", {"begin_seconds", "end_seconds", "item", "pass", "tile"}},
              {"outside_fields", {"seconds", "bytes"}}};
    if (trace.summed_by_step_from_seconds >= 0)
      head["summed_by_step_from_seconds"] = trace.summed_by_step_from_seconds;
    if (trace.summed_by_pass_from_seconds >= 0)
      head["summed_by_pass_from_seconds"] = trace.summed_by_pass_from_seconds;
    for (size_t kind = 0; kind < kAllocationKinds; ++kind)
      head["kinds"].push_back(name_of(static_cast<AllocationKind>(kind)));
    for (const Tensor& tensor : graph.tensors()) head["layers"].push_back(tensor.name);
    std::string text = head.dump();
    text.pop_back();
    out << text << ",\n\"passes\":";
    Elements passes(out);
    for (const TraceInterval& pass : trace.passes) {
      passes.add({{"name", plan.passes[static_cast<size_t>(pass.pass)].name},
                  {"pass", pass.pass},
                  {"item", pass.item},
                  {"begin_seconds", pass.begin_seconds},
                  {"end_seconds", pass.end_seconds}});
    }
    passes.end();
    out << ",\n\"steps\":";
    Elements steps(out);
    for (const TraceStepSum& sum : trace.step_sums) {
      const Step& step = plan.passes[static_cast<size_t>(sum.pass)].steps[static_cast<size_t>(sum.step)];
      steps.add({{"pass", sum.pass},
                 {"step", sum.step},
                 {"kind", name_of(step.kind)},
                 {"layer", index(step.tensor)},
                 {"calls", sum.calls},
                 {"seconds", sum.seconds}});
    }
    steps.end();
    out << ",\n\"tiles\":";
    Elements tiles(out);
    for (const TraceInterval& tile : trace.tiles) {
      tiles.add("[%.6f,%.6f,%ld,%d,%ld]", tile.begin_seconds, tile.end_seconds, tile.item, tile.pass,
                tile.tile);
    }
    tiles.end();
    out << ",\n\"events\":";
    Elements events(out);
    for (const TraceEvent& event : trace.events) {
      events.add("[%.6f,%d,%d,%d,%ld,%ld]", event.seconds, static_cast<int>(event.kind),
                 static_cast<int>(event.layer), event.pass, event.tile, event.bytes);
    }
    events.end();
    out << ",\n\"outside\":";
    Elements outside(out);
    for (const OutsideSample& sample : trace.outside) outside.add("[%.6f,%ld]", sample.seconds, sample.bytes);
    outside.end();
    out << "}\n";
  });
}

void write_chrome_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                        const Graph& graph) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"displayTimeUnit\":\"ms\",\"otherData\":"
        << json{{"model", trace.model}, {"device", trace.device}, {"libraries", trace.libraries}}.dump()
        << ",\n\"traceEvents\":";
    Elements events(out);
    constexpr std::array<const char*, 3> kTracks{"passes", "tiles", "steps"};
    events.add({{"ph", "M"},
                {"pid", 1},
                {"name", "process_name"},
                {"args", {{"name", "decode of " + trace.model}}}});
    for (size_t track = 0; track < kTracks.size(); ++track) {
      events.add({{"ph", "M"},
                  {"pid", 1},
                  {"tid", track + 1},
                  {"name", "thread_name"},
                  {"args", {{"name", kTracks[track]}}}});
    }
    // Names are written as JSON once each; they come again for every tile.
    std::vector<std::string> pass_names;
    for (const Pass& pass : plan.passes) pass_names.push_back(json(pass.name).dump());
    const auto duration = [&](const std::string& name, int track, const TraceInterval& interval) {
      char text[160];
      std::snprintf(text, sizeof text, ",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", track,
                    microseconds(interval.begin_seconds),
                    microseconds(interval.end_seconds - interval.begin_seconds));
      events.add("%s", "{\"name\":");
      out << name << text;
    };
    for (const TraceInterval& pass : trace.passes)
      duration(pass_names[static_cast<size_t>(pass.pass)], 1, pass);
    for (const TraceInterval& tile : trace.tiles)
      duration("\"tile " + std::to_string(tile.tile) + "\"", 2, tile);
    std::map<std::pair<int32_t, int32_t>, std::string> step_names;
    for (const TraceInterval& step : trace.steps) {
      std::string& name = step_names[{step.pass, step.step}];
      if (name.empty()) name = json(step_name(plan, graph, step)).dump();
      duration(name, 3, step);
    }
    std::array<int64_t, kAllocationKinds> live{};
    for (const TraceEvent& event : trace.events) {
      const auto kind = static_cast<size_t>(event.kind);
      live[kind] += event.bytes;
      events.add("{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"args\":{\"bytes\":%ld}}",
                 name_of(event.kind), microseconds(event.seconds), live[kind]);
    }
    for (const OutsideSample& sample : trace.outside) {
      events.add("{\"name\":\"outside\",\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"args\":{\"bytes\":%ld}}",
                 microseconds(sample.seconds), sample.bytes);
    }
    events.end();
    out << "}\n";
  });
}

}  // namespace headroom
