#pragma once

#include <filesystem>
#include <string>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// A trace in the Trace Event Format that chrome://tracing and Perfetto read: passes, tiles and steps as
/// durations, those of a GPU's streams on tracks of their own, a counter for each kind of memory. Throws
/// DeviceError.
void write_chrome_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                        const Graph& graph);

/// Its events as a table, a line for each: seconds, kind, layer, pass, tile, bytes, and what there is of
/// every kind and in all afterwards. Throws DeviceError.
void write_trace_csv(const std::filesystem::path& file, const Trace& trace, const Graph& graph);

/// Where a trace is to go; names may be empty.
struct TraceFiles {
  std::string trace{};   ///< as write_trace()
  std::string chrome{};  ///< as write_chrome_trace()
  std::string csv{};     ///< as write_trace_csv()
};
void write_traces(const Trace& trace, const Plan& plan, const Graph& graph, const TraceFiles& files);

/// The trace with what it does not know itself: the model, the device and the limit that it was recorded
/// with.
Trace described(Trace trace, const Plan& plan, const RunStats& stats);

}  // namespace headroom
