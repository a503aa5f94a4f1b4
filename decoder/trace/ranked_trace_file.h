#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "decoder/trace/trace_file.h"

namespace headroom {

/// Version of a "headroom.trace" file with all ranks of one decode.
constexpr int64_t kRankedTraceVersion = 4;

/// Traces of all ranks of one decode, in rank order. Times are seconds since each rank's own start. Add
/// TraceRank::clock_offset_seconds to compare them.
struct RankedTrace {
  std::vector<RecordedTrace> ranks;
};

/// Writes the ranks' texts from trace_text(), in rank order, complete or not at all. Throws DeviceError.
void write_ranked_trace(const std::filesystem::path& file, const std::vector<std::string>& texts);

/// Reads a trace of all ranks or a single one, from a file or a text. Checks it like trace_from_json(), and
/// also that the ranks are in order. Throws InputError naming the file and the key.
std::variant<RecordedTrace, RankedTrace> read_any_trace(const std::filesystem::path& file);
std::variant<RecordedTrace, RankedTrace> any_trace_from_json(const std::string& text,
                                                             const std::string& origin);

}  // namespace headroom
