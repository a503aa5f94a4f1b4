#include "decoder/trace/trace_rank_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "decoder/plan/file_limits.h"
#include "decoder/trace/trace_parser.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kMostCalls = 1'000'000;

json call_names() {
  json names = json::array();
  for (size_t call = 0; call < kExchangeCalls; ++call)
    names.push_back(name_of(static_cast<ExchangeCall>(call)));
  return names;
}

json field_names() {
  return {"begin_seconds", "end_seconds", "call", "pass", "sent_bytes"};
}

void expect_names(const JsonFields& fields, const json& names) {
  if (fields.value() == names) return;
  fields.fail("expected " + names.dump() + ", found " + fields.value().dump().substr(0, 80));
}

double to_microseconds(double seconds) {
  return std::round(seconds * 1e6) / 1e6;
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

}  // namespace

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

json to_json(const TraceRank& rank) {
  json calls = json::array();
  for (const TraceExchange& call : rank.calls) {
    calls.push_back({to_microseconds(call.begin_seconds), to_microseconds(call.end_seconds),
                     static_cast<int>(call.call), call.pass, call.sent_bytes});
  }
  return {{"rank", rank.rank},
          {"ranks", rank.ranks},
          {"latent_rows", {rank.latent_rows.begin, rank.latent_rows.end}},
          {"predicted_peak_bytes", rank.predicted_peak_bytes},
          {"clock_offset_seconds", rank.clock_offset_seconds},
          {"sent_bytes", rank.sent_bytes},
          {"waited_seconds", rank.waited_seconds},
          {"call_names", call_names()},
          {"call_fields", field_names()},
          {"calls", std::move(calls)},
          {"calls_left_out", rank.calls_left_out}};
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
  expect_names(fields["call_names"], call_names());
  expect_names(fields["call_fields"], field_names());
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

}  // namespace headroom
