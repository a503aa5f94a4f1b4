#pragma once

#include <filesystem>
#include <string>
#include <vector>

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

/// The events of such a file, as the text of an array. Of one of several ranks they are those of a process
/// of its own, by the clock of all ranks.
std::string chrome_events(const Trace& trace, const Plan& plan, const Graph& graph);
/// A file of the events of several; `first` says what it is of.
void write_chrome_trace(const std::filesystem::path& file, const Trace& first,
                        const std::vector<std::string>& events);

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
