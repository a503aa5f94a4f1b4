#include "decoder/session/rank_traces.h"

#include <algorithm>

#include "decoder/exchange/gather_texts.h"
#include "decoder/trace/trace_file.h"

namespace headroom {
namespace {

/// Seconds to add to this rank's times so that all ranks leave one gather at the same time. 0 for the rank
/// whose clock began first.
double clock_offset(Exchange& exchange, const TraceRecorder& recorder) {
  exchange.gather({0});
  const double left = recorder.now();
  double latest = left;
  for (const std::vector<double>& of_rank : exchange.gather({left})) latest = std::max(latest, of_rank.at(0));
  return latest - left;
}

}  // namespace

void write_rank_traces(Exchange& exchange, const RecordedRank& own, const std::filesystem::path& file) {
  const double offset = clock_offset(exchange, own.recorder);
  Trace trace = described(own.recorder.finish(), own.plan, own.stats);
  if (!trace.rank) trace.rank.emplace();  // it exchanged nothing
  trace.rank->rank = exchange.rank();
  trace.rank->ranks = exchange.size();
  trace.rank->latent_rows = own.plan.share.latent_rows;
  trace.rank->predicted_peak_bytes = own.plan.predicted_peak_bytes;
  trace.rank->clock_offset_seconds = offset;
  const std::vector<std::string> texts = gather_texts(exchange, trace_text(trace, own.plan, own.graph));
  if (exchange.rank() == 0) write_traces(file, texts);
}

}  // namespace headroom
