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
  const Plan& plan;  ///< this rank's plan
  const Graph& graph;
  const RunStats& stats;
};

/// Finishes the recording. Rank 0 writes one file for all ranks. All ranks must call this, with the exchange
/// that is not watched. All ranks leave one gather() at the same moment, which aligns their clocks. Throws
/// ExchangeError, DeviceError.
void write_rank_traces(Exchange& exchange, const RecordedRank& own, const std::filesystem::path& file);

}  // namespace headroom
