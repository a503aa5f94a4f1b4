#include "decoder/trace/ranked_trace_file.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/trace/trace_parser.h"

namespace headroom {
namespace {

RecordedTrace rank_of(const JsonFields& ranks, size_t number, Trace rows) {
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

void write_ranked_trace(const std::filesystem::path& file, const std::vector<std::string>& texts) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"schema\":\"headroom.trace\",\"version\":" << kRankedTraceVersion << ",\"ranks\":[\n";
    for (size_t rank = 0; rank < texts.size(); ++rank) out << (rank > 0 ? ",\n" : "") << texts[rank];
    out << "]}\n";
  });
}

std::variant<RecordedTrace, RankedTrace> any_trace_from_json(const std::string& text,
                                                             const std::string& origin) {
  ParsedTraces parsed = parse_traces(text, origin);
  const JsonFields file(parsed.document, origin);
  if (!file.has("ranks")) return trace_of(file, std::move(parsed.traces[0]));
  check_schema(file, "headroom.trace", kRankedTraceVersion);
  const JsonFields ranks = file["ranks"];
  if (ranks.size(kMostRanks) == 0) ranks.fail("expected at least one rank");
  parsed.traces.resize(ranks.value().size());
  RankedTrace ranked;
  for (size_t rank = 0; rank < ranks.value().size(); ++rank)
    ranked.ranks.push_back(rank_of(ranks, rank, std::move(parsed.traces[rank])));
  return ranked;
}

std::variant<RecordedTrace, RankedTrace> read_any_trace(const std::filesystem::path& file) {
  return any_trace_from_json(read_text_file(file, kMostTraceFileBytes), file.string());
}

}  // namespace headroom
