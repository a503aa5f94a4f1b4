#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/trace_file.h"

namespace headroom {

// One trace of all ranks of a decode:
//
//     TraceRecorder recorder(nullptr, bounds_of_rank(exchange.size()));
//     WatchedExchange watched(exchange, events, nullptr);  events end at the recorder
//     ... decode with RankLink{watched, transfers} ...
//     write_rank_traces(exchange, {recorder, plan, graph, stats}, file);

/// One rank's decode, once it is over.
struct RecordedRank {
  TraceRecorder& recorder;
  const Plan& plan;  ///< the rank's
  const Graph& graph;
  const RunStats& stats;
};

/// Finishes the recording, and rank 0 writes the file of all ranks. All ranks call it. `exchange` is the one
/// that is not watched. Ranks leave one gather together: by that moment their clocks are lined up. Throws
/// ExchangeError, DeviceError.
void write_rank_traces(Exchange& exchange, const RecordedRank& own, const std::filesystem::path& file);

}  // namespace headroom
