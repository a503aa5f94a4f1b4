#pragma once

#include <filesystem>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
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

}  // namespace headroom
