#pragma once

#include <filesystem>

#include "decoder/plan/trace.h"

namespace headroom {

constexpr int64_t kTraceVersion = 1;

/// "headroom.trace" as docs/formats.md describes it, written bit by bit. Throws DeviceError.
void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan, const Graph& graph);

/// The same in the Trace Event Format that chrome://tracing and Perfetto read: passes, tiles and steps as
/// durations, a counter for each kind of allocation. Throws DeviceError.
void write_chrome_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan,
                        const Graph& graph);

}  // namespace headroom
