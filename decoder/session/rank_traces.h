#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/exports.h"

namespace headroom {

// One trace of all ranks of a decode:
//
//     TraceRecorder recorder(nullptr, bounds_of_rank(exchange.size()));
//     WatchedExchange watched(exchange, events, nullptr);  events end at the recorder
//     ... decode with RankLink{watched, transfers} ...
//     write_rank_traces(exchange, {recorder, plan, graph, stats}, files);

/// One rank's decode, once it is over.
struct RecordedRank {
  TraceRecorder& recorder;
  const Plan& plan;  ///< the rank's
  const Graph& graph;
  const RunStats& stats;
};

/// Finishes the recording, and rank 0 writes the files of all ranks: `trace` and `chrome`, as far as they
/// have names. All ranks call it with the same names; others than rank 0 write nothing. `exchange` is the one
/// that is not watched. Ranks leave one gather together: by that moment their clocks are lined up. Throws
/// ExchangeError, DeviceError.
void write_rank_traces(Exchange& exchange, const RecordedRank& own, const TraceFiles& files);

}  // namespace headroom
