#include "decoder/trace/trace_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"
#include "decoder/plan/json_elements.h"
#include "decoder/plan/plan_file.h"
#include "decoder/trace/trace_parser.h"

namespace headroom {
namespace {

using nlohmann::json;

double to_microseconds(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
}

/// Value of the key "rank" (docs/formats.md). Times of calls are rounded to microseconds.
json to_json(const TraceRank& rank) {
  json calls = json::array();
  for (const TraceExchange& call : rank.calls) {
    calls.push_back({to_microseconds(call.begin_seconds), to_microseconds(call.end_seconds),
                     static_cast<int>(call.call), call.pass, call.sent_bytes});
  }
  json out{{"rank", rank.rank},
           {"ranks", rank.ranks},
           {"latent_rows", {rank.latent_rows.begin, rank.latent_rows.end}},
           {"predicted_peak_bytes", rank.predicted_peak_bytes},
           {"clock_offset_seconds", rank.clock_offset_seconds},
           {"sent_bytes", rank.sent_bytes},
           {"waited_seconds", rank.waited_seconds},
           {"calls", std::move(calls)},
           {"calls_left_out", rank.calls_left_out}};
  out.update(rank_call_names());
  return out;
}

/// Adds the keys of GPU traces, except the long lists.
void add_device(const Trace& trace, json& head) {
  head["clock"] = trace.by_device_clock ? "device" : "host";
  head["activity_names"] = trace.activity_names;
  head["activities_left_out"] = trace.activities_left_out;
  head["activities_of_no_step"] = trace.activities_of_no_step;
  head["records_lost"] = trace.records_lost;
  head["sources"] = json::array();
  for (const TraceSource& source : trace.sources)
    head["sources"].push_back(
        {{"name", source.name}, {"captured", source.captured}, {"detail", source.detail}});
}

void write_device_lists(const Trace& trace, std::ostream& out) {
  out << ",\n\"activities\":";
  Elements activities(out);
  for (const TraceActivity& one : trace.activities) {
    activities.add("[%.9f,%.9f,%d,%d,%d,%d,%ld,%d,%ld]", one.begin_seconds, one.end_seconds,
                   static_cast<int>(one.kind), one.stream, one.name, one.pass, one.tile, one.step, one.bytes);
  }
  activities.end();
  out << ",\n\"driver\":";
  Elements driver(out);
  for (const DriverSample& sample : trace.driver) driver.add("[%.6f,%ld]", sample.seconds, sample.bytes);
  driver.end();
}

/// All keys except the long lists.
json head_of(const Trace& trace, const Graph& graph) {
  json head{{"schema", "headroom.trace"},
            {"version", kTraceVersion},
            {"model", trace.model},
            {"device", trace.device},
            {"libraries", trace.libraries},
            {"limit_bytes", trace.limit_bytes},
            {"seconds", trace.seconds},
            {"tiles_left_out", trace.tiles_left_out},
            {"steps_left_out", trace.steps_left_out},
            {"places_left_out", trace.places_left_out},
            {"request", to_json(trace.request)}};
  head.update(trace_names());
  add_device(trace, head);
  if (trace.rank) head["rank"] = to_json(*trace.rank);
  if (trace.summed_by_step_from_seconds >= 0)
    head["summed_by_step_from_seconds"] = trace.summed_by_step_from_seconds;
  if (trace.summed_by_pass_from_seconds >= 0)
    head["summed_by_pass_from_seconds"] = trace.summed_by_pass_from_seconds;
  // Start with an array. If push_back() creates it and memory runs out, the JSON library leaves a broken
  // value.
  head["layers"] = json::array();
  for (const Tensor& tensor : graph.tensors()) head["layers"].push_back(tensor.name);
  return head;
}

void write_passes(const Trace& trace, const Plan& plan, std::ostream& out) {
  out << ",\n\"passes\":";
  Elements passes(out);
  for (const TraceInterval& pass : trace.passes) {
    passes.add({{"name", plan.passes[static_cast<size_t>(pass.pass)].name},
                {"pass", pass.pass},
                {"item", pass.item},
                {"begin_seconds", pass.begin_seconds},
                {"end_seconds", pass.end_seconds}});
  }
  passes.end();
}

void write_steps(const Trace& trace, const Plan& plan, std::ostream& out) {
  out << ",\n\"steps\":";
  Elements steps(out);
  for (const TraceStepSum& sum : trace.step_sums) {
    const Step& step = plan.passes[static_cast<size_t>(sum.pass)].steps[static_cast<size_t>(sum.step)];
    json entry{{"pass", sum.pass},           {"step", sum.step},
               {"kind", name_of(step.kind)}, {"layer", index(step.tensor)},
               {"calls", sum.calls},         {"seconds", sum.seconds}};
    if (sum.device_seconds > 0) entry["device_seconds"] = sum.device_seconds;
    steps.add(entry);
  }
  steps.end();
}

void write_lists(const Trace& trace, std::ostream& out) {
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
    events.add("[%.6f,%d,%d,%d,%ld,%ld,%ld]", event.seconds, static_cast<int>(event.kind),
               static_cast<int>(event.layer), event.pass, event.tile, event.bytes, event.slack_bytes);
  }
  events.end();
  out << ",\n\"outside\":";
  Elements outside(out);
  for (const OutsideSample& sample : trace.outside) outside.add("[%.6f,%ld]", sample.seconds, sample.bytes);
  outside.end();
}

void write_places(const Trace& trace, std::ostream& out) {
  out << ",\n\"places\":";
  Elements places(out);
  for (const TracePlace& place : trace.places) {
    places.add("[%.6f,%.6f,%d,%d,%d,%ld,%ld]", place.begin_seconds, place.end_seconds,
               static_cast<int>(place.kind), static_cast<int>(place.layer), place.pass, place.offset,
               place.bytes);
  }
  places.end();
}

void write_whole(const Trace& trace, const Plan& plan, const Graph& graph, std::ostream& out) {
  std::string head = head_of(trace, graph).dump();
  head.pop_back();
  out << head;
  write_passes(trace, plan, out);
  write_steps(trace, plan, out);
  write_lists(trace, out);
  write_places(trace, out);
  write_device_lists(trace, out);
  out << "}\n";
}

}  // namespace

const char* name_of(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kernel:
      return "kernel";
    case ActivityKind::copy:
      return "copy";
    case ActivityKind::fill:
      return "fill";
  }
  return "";
}

const char* name_of(ExchangeCall call) {
  switch (call) {
    case ExchangeCall::post:
      return "post";
    case ExchangeCall::wait:
      return "wait";
    case ExchangeCall::gather:
      return "gather";
  }
  return "";
}

void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                 const Graph& graph) {
  write_file_whole(file, [&](std::ostream& out) { write_whole(trace, plan, graph, out); });
}

void write_traces(const std::filesystem::path& file, const std::vector<std::string>& texts) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"schema\":\"headroom.trace\",\"version\":" << kGroupTraceVersion << ",\"ranks\":[\n";
    for (size_t rank = 0; rank < texts.size(); ++rank) out << (rank > 0 ? ",\n" : "") << texts[rank];
    out << "]}\n";
  });
}

Trace described(Trace trace, const Plan& plan, const RunStats& stats) {
  trace.model = plan.request.model;
  trace.request = plan.request;
  trace.device = stats.device;
  trace.libraries = stats.libraries;
  trace.limit_bytes = stats.limit_bytes;
  return trace;
}

std::string trace_text(const Trace& trace, const Plan& plan, const Graph& graph) {
  TextWriter out;
  write_whole(trace, plan, graph, out);
  return out.str();
}

}  // namespace headroom
