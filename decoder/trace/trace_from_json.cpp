#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "decoder/trace/trace_file.h"
#include "decoder/trace/trace_parser.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kMostNameBytes = 4096;
constexpr size_t kMostSources = 100;
constexpr size_t kMostIntervals = 1'000'000;
constexpr size_t kMostCalls = 1'000'000;

std::string name_text(const JsonFields& fields) {
  std::string text = fields.text();
  if (text.size() > kMostNameBytes) fields.fail("expected a name of at most 4096 bytes");
  return text;
}

/// Requires exactly these names under their keys, because rows and kinds are read by position.
void require_names(const JsonFields& fields, const json& expected) {
  for (const auto& [key, names] : expected.items()) {
    if (fields[key].value() == names) continue;
    fields[key].fail("expected " + names.dump() + ", found " + fields[key].value().dump().substr(0, 80));
  }
}

/// Requires an empty array: the parser has already moved the rows of long lists into the trace.
void require_taken(const JsonFields& list) {
  if (list.size(SIZE_MAX) > 0) list.fail("expected rows alone, found other values");
}

std::string step_kind(const JsonFields& fields) {
  std::string text = fields.text();
  const bool known =
      std::any_of(kAllKinds.begin(), kAllKinds.end(), [&](OpKind kind) { return text == name_of(kind); });
  if (known) return text;
  fields.fail("expected a kind of step, found " + fields.value().dump().substr(0, 40));
}

/// Reads the passes' intervals and names. A pass has the same name in every micro-batch.
void read_passes(const JsonFields& list, RecordedTrace& recorded) {
  const size_t count = list.size(kMostIntervals);
  std::vector<bool> named;
  double earliest = 0;
  for (size_t i = 0; i < count; ++i) {
    const JsonFields fields = list[i];
    TraceInterval pass;
    pass.pass = static_cast<int32_t>(fields["pass"].integer(0, kMostTracePasses - 1));
    pass.item = fields["item"].integer(0, 1'000'000);
    const auto time = [&](const char* key) {
      const double seconds = fields[key].number();
      if (seconds < earliest)
        fields[key].fail("expected at least " + json(earliest).dump() + ", found " + json(seconds).dump());
      return seconds;
    };
    earliest = pass.begin_seconds = time("begin_seconds");
    earliest = pass.end_seconds = time("end_seconds");
    const auto number = static_cast<size_t>(pass.pass);
    if (number >= recorded.pass_names.size()) {
      recorded.pass_names.resize(number + 1);
      named.resize(number + 1, false);
    }
    const std::string name = name_text(fields["name"]);
    if (named[number] && recorded.pass_names[number] != name)
      fields["name"].fail("expected the name that pass " + std::to_string(number) + " has above");
    recorded.pass_names[number] = name;
    named[number] = true;
    recorded.trace.passes.push_back(pass);
  }
}

void read_steps(const JsonFields& list, RecordedTrace& recorded) {
  const size_t count = list.size(kMostIntervals);
  const auto passes = static_cast<int64_t>(recorded.pass_names.size()),
             layers = static_cast<int64_t>(recorded.layers.size());
  for (size_t i = 0; i < count; ++i) {
    const JsonFields fields = list[i];
    TraceStepSum sum;
    sum.pass = static_cast<int32_t>(fields["pass"].integer(0, passes - 1));
    sum.step = static_cast<int32_t>(fields["step"].integer(0, kMostTraceSteps - 1));
    sum.calls = fields["calls"].integer(0, kMostTraceBytes);
    sum.seconds = fields["seconds"].amount();
    if (fields.has("device_seconds")) sum.device_seconds = fields["device_seconds"].amount();
    recorded.trace.step_sums.push_back(sum);
    recorded.steps.push_back(
        {step_kind(fields["kind"]), static_cast<int32_t>(fields["layer"].integer(-1, layers - 1))});
  }
}

/// Checks that need the whole document: layers and passes exist, and frees do not exceed allocations.
void check_rows(const RecordedTrace& recorded, const JsonFields& file) {
  const auto passes = static_cast<int64_t>(recorded.pass_names.size()),
             layers = static_cast<int64_t>(recorded.layers.size());
  const auto refuse = [&](const char* list, size_t row, size_t column, int64_t least, int64_t most,
                          int64_t found) {
    file.fail(std::string(list) + "[" + std::to_string(row) + "][" + std::to_string(column) +
              "]: expected an integer from " + std::to_string(least) + " to " + std::to_string(most) +
              ", found " + std::to_string(found));
  };
  KindBytes live{};
  int64_t total = 0;
  for (size_t i = 0; i < recorded.trace.events.size(); ++i) {
    const TraceEvent& event = recorded.trace.events[i];
    const auto layer = static_cast<int64_t>(event.layer);
    if (layer >= layers) refuse("events", i, 2, -1, layers - 1, layer);
    if (event.pass >= passes) refuse("events", i, 3, -1, passes - 1, event.pass);
    int64_t& of_kind = live[static_cast<size_t>(event.kind)];
    if (event.bytes < -of_kind || event.bytes > kMostTraceBytes - total)
      refuse("events", i, 5, -of_kind, kMostTraceBytes - total, event.bytes);
    apply(event, live);
    const int64_t slack = live[static_cast<size_t>(MemoryKind::slack)];
    if (slack < 0 || event.slack_bytes > kMostTraceBytes - total)
      refuse("events", i, 6, event.slack_bytes - slack, kMostTraceBytes - total, event.slack_bytes);
    total += event.bytes + event.slack_bytes;
  }
  for (size_t i = 0; i < recorded.trace.tiles.size(); ++i) {
    const TraceInterval& tile = recorded.trace.tiles[i];
    if (tile.pass >= passes) refuse("tiles", i, 3, 0, passes - 1, tile.pass);
  }
  int64_t placed = 0;
  for (size_t i = 0; i < recorded.trace.places.size(); ++i) {
    const TracePlace& place = recorded.trace.places[i];
    if (const auto layer = static_cast<int64_t>(place.layer); layer >= layers)
      refuse("places", i, 3, -1, layers - 1, layer);
    if (place.pass >= passes) refuse("places", i, 4, -1, passes - 1, place.pass);
    if (place.bytes > kMostTraceBytes - std::max(placed, place.offset))
      refuse("places", i, 6, 0, kMostTraceBytes - std::max(placed, place.offset), place.bytes);
    placed += place.bytes;
  }
  const auto names = static_cast<int64_t>(recorded.trace.activity_names.size());
  int64_t moved = 0;
  for (size_t i = 0; i < recorded.trace.activities.size(); ++i) {
    const TraceActivity& activity = recorded.trace.activities[i];
    if (activity.name >= names) refuse("activities", i, 4, 0, names - 1, activity.name);
    if (activity.pass >= passes) refuse("activities", i, 5, -1, passes - 1, activity.pass);
    if (activity.bytes > kMostTraceBytes - moved)
      refuse("activities", i, 8, 0, kMostTraceBytes - moved, activity.bytes);
    moved += activity.bytes;
  }
}

/// Reads the keys of GPU traces. Their lists are empty in CPU traces.
void read_device(const JsonFields& file, RecordedTrace& recorded) {
  Trace& trace = recorded.trace;
  trace.by_device_clock = file["clock"].text() == "device";
  if (!trace.by_device_clock && file["clock"].text() != "host")
    file["clock"].fail("expected \"host\" or \"device\", found " +
                       file["clock"].value().dump().substr(0, 40));
  const JsonFields names = file["activity_names"];
  const size_t count = names.size(static_cast<size_t>(kMostTraceNames));
  for (size_t i = 0; i < count; ++i) trace.activity_names.push_back(name_text(names[i]));
  for (const char* list : {"activities", "driver"}) require_taken(file[list]);
  trace.activities_left_out = file["activities_left_out"].integer(0, kMostTraceBytes);
  trace.activities_of_no_step = file["activities_of_no_step"].integer(0, kMostTraceBytes);
  trace.records_lost = file["records_lost"].integer(0, kMostTraceBytes);
  const JsonFields sources = file["sources"];
  const size_t source_count = sources.size(kMostSources);
  for (size_t i = 0; i < source_count; ++i) {
    trace.sources.push_back(
        {name_text(sources[i]["name"]), sources[i]["captured"].boolean(), name_text(sources[i]["detail"])});
  }
}

TraceExchange call_from_json(const JsonFields& row, int64_t passes, double earliest) {
  if (row.size(SIZE_MAX) != 5) row.fail("expected 5 numbers");
  TraceExchange call;
  const auto time = [&](size_t column, double least) {
    const double seconds = row[column].number();
    if (seconds < least)
      row[column].fail("expected at least " + json(least).dump() + ", found " + json(seconds).dump());
    return seconds;
  };
  call.begin_seconds = time(0, earliest);
  call.end_seconds = time(1, call.begin_seconds);
  call.call = static_cast<ExchangeCall>(row[2].integer(0, kExchangeCalls - 1));
  call.pass = static_cast<int32_t>(row[3].integer(-1, passes - 1));
  call.sent_bytes = row[4].integer(0, kMostTraceBytes);
  return call;
}

TraceRank rank_from_json(const JsonFields& fields, int64_t passes) {
  TraceRank rank;
  rank.ranks = static_cast<int32_t>(fields["ranks"].integer(1, static_cast<int64_t>(kMostRanks)));
  rank.rank = static_cast<int32_t>(fields["rank"].integer(0, rank.ranks - 1));
  const JsonFields rows = fields["latent_rows"];
  if (rows.size(SIZE_MAX) != 2) rows.fail("expected [begin, end]");
  rank.latent_rows.begin = rows[0].integer(0, kMostPixels);
  rank.latent_rows.end = rows[1].integer(rank.latent_rows.begin, kMostPixels);
  rank.predicted_peak_bytes = fields["predicted_peak_bytes"].integer(0, kMostTraceBytes);
  rank.clock_offset_seconds = fields["clock_offset_seconds"].amount();
  rank.sent_bytes = fields["sent_bytes"].integer(0, kMostTraceBytes);
  rank.waited_seconds = fields["waited_seconds"].amount();
  require_names(fields, rank_call_names());
  const JsonFields calls = fields["calls"];
  const size_t count = calls.size(kMostCalls);
  double earliest = 0;
  for (size_t i = 0; i < count; ++i) {
    rank.calls.push_back(call_from_json(calls[i], passes, earliest));
    earliest = rank.calls.back().end_seconds;
  }
  rank.calls_left_out = fields["calls_left_out"].integer(0, kMostTraceBytes);
  return rank;
}

/// Builds the trace from a document whose long lists have already been parsed into `rows`.
RecordedTrace trace_of(const JsonFields& file, Trace rows) {
  check_schema(file, "headroom.trace", kTraceVersion);
  RecordedTrace recorded;
  Trace& trace = recorded.trace;
  trace = std::move(rows);
  trace.model = name_text(file["model"]);
  trace.device = name_text(file["device"]);
  trace.libraries = name_text(file["libraries"]);
  trace.limit_bytes = file["limit_bytes"].integer(0, INT64_MAX);  // INT64_MAX: no limit
  trace.seconds = file["seconds"].amount();
  trace.tiles_left_out = file["tiles_left_out"].integer(0, kMostTraceBytes);
  trace.steps_left_out = file["steps_left_out"].integer(0, kMostTraceBytes);
  if (file.has("summed_by_step_from_seconds"))
    trace.summed_by_step_from_seconds = file["summed_by_step_from_seconds"].amount();
  if (file.has("summed_by_pass_from_seconds"))
    trace.summed_by_pass_from_seconds = file["summed_by_pass_from_seconds"].amount();
  require_names(file, trace_names());
  const JsonFields layers = file["layers"];
  const size_t layer_count = layers.size(static_cast<size_t>(kMostTraceLayers));
  for (size_t i = 0; i < layer_count; ++i) recorded.layers.push_back(name_text(layers[i]));
  read_passes(file["passes"], recorded);
  read_steps(file["steps"], recorded);
  for (const char* list : {"tiles", "events", "outside", "places"}) require_taken(file[list]);
  trace.places_left_out = file["places_left_out"].integer(0, kMostTraceBytes);
  read_device(file, recorded);
  check_rows(recorded, file);
  trace.request = request_from_json(file["request"]);
  if (file.has("rank"))
    trace.rank = rank_from_json(file["rank"], static_cast<int64_t>(recorded.pass_names.size()));
  return recorded;
}

/// The trace of one of several ranks.
RecordedTrace trace_at(const JsonFields& ranks, size_t number, Trace rows) {
  RecordedTrace recorded = trace_of(ranks[number], std::move(rows));
  const std::optional<TraceRank>& rank = recorded.trace.rank;
  const auto count = static_cast<int64_t>(ranks.value().size());
  const std::string expected = "expected rank " + std::to_string(number) + " of " + std::to_string(count);
  if (!rank) ranks[number].fail("rank: " + expected + ", found none");
  if (rank->rank != static_cast<int64_t>(number) || rank->ranks != count)
    ranks[number].fail("rank: " + expected + ", found rank " + std::to_string(rank->rank) + " of " +
                       std::to_string(rank->ranks));
  return recorded;
}

}  // namespace

std::vector<RecordedTrace> traces_from_json(const std::string& text, const std::string& origin) {
  ParsedTraces parsed = parse_traces(text, origin);
  const JsonFields file(parsed.document, origin);
  std::vector<RecordedTrace> traces;
  if (!file.has("ranks")) {
    traces.push_back(trace_of(file, std::move(parsed.traces[0])));
    return traces;
  }
  check_schema(file, "headroom.trace", kGroupTraceVersion);
  const JsonFields ranks = file["ranks"];
  if (ranks.size(kMostRanks) == 0) ranks.fail("expected at least one rank");
  parsed.traces.resize(ranks.value().size());
  for (size_t rank = 0; rank < ranks.value().size(); ++rank)
    traces.push_back(trace_at(ranks, rank, std::move(parsed.traces[rank])));
  return traces;
}

std::vector<RecordedTrace> read_traces(const std::filesystem::path& file) {
  return traces_from_json(read_text_file(file, kMostTraceFileBytes), file.string());
}

}  // namespace headroom
