#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "decoder/trace/trace_file.h"

namespace headroom {

/// The version of "headroom.trace" of all ranks of one decode.
constexpr int64_t kRankedTraceVersion = 4;

/// Traces of all ranks of one decode, in rank order. Times are seconds since each rank's own start. Add
/// TraceRank::clock_offset_seconds to compare them.
struct RankedTrace {
  std::vector<RecordedTrace> ranks;
};

/// Writes what trace_text() made of each rank's trace, in the order of ranks, whole or not at all. Throws
/// DeviceError.
void write_ranked_trace(const std::filesystem::path& file, const std::vector<std::string>& texts);

/// The traces of all ranks, of a file or a text of that kind; else of the single one. Checked as
/// trace_from_json() does, and that each rank is the one of its place. Throws InputError naming the file and
/// the key.
std::variant<RecordedTrace, RankedTrace> read_any_trace(const std::filesystem::path& file);
std::variant<RecordedTrace, RankedTrace> any_trace_from_json(const std::string& text,
                                                             const std::string& origin);

}  // namespace headroom
