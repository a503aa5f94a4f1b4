#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Versions of "headroom.trace": a single trace, and the traces of all ranks of one decode.
constexpr int64_t kTraceVersion = 3, kGroupTraceVersion = 4;

/// Writes a "headroom.trace" file (docs/formats.md) in small pieces. Throws DeviceError.
void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan, const Graph& graph);
/// Returns the document as text. A rank sends its text to rank 0, which writes the file of all ranks.
std::string trace_text(const Trace& trace, const Plan& plan, const Graph& graph);
/// Writes the ranks' texts from trace_text(), in rank order, complete or not at all. Throws DeviceError.
void write_traces(const std::filesystem::path& file, const std::vector<std::string>& texts);

/// Adds the model, the request, the device, the libraries and the limit, which the recorder does not know.
Trace described(Trace trace, const Plan& plan, const RunStats& stats);

/// Kind and layer of one step of a plan.
struct RecordedStep {
  std::string kind;    ///< by name_of(OpKind)
  int32_t layer = -1;  ///< index into RecordedTrace::layers
  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

/// A trace as stored in its file, with names in place of the plan and the graph. Layers of events are indices
/// into `layers`.
struct RecordedTrace {
  Trace trace;  ///< without `steps`: the file has no durations of single steps
  std::vector<std::string> layers;
  std::vector<std::string> pass_names;  ///< by pass number; empty if the pass has no interval
  std::vector<RecordedStep> steps;      ///< parallel to trace.step_sums
};

constexpr int64_t kMostTraceFileBytes = int64_t{512} << 20;

/// Reads the traces of all ranks of one decode, in rank order, or a single trace. Trace::rank is set in the
/// former. Times are seconds since each rank's own start. Add TraceRank::clock_offset_seconds to compare
/// them. A file has at most kMostTraceFileBytes; a million events take well below a second. Checks that
/// numbers are in range, times ascend and no kind of memory becomes negative. Throws InputError naming the
/// file and the key.
std::vector<RecordedTrace> read_traces(const std::filesystem::path& file);
/// Like read_traces(), from text. `origin` names the source in errors.
std::vector<RecordedTrace> traces_from_json(const std::string& text, const std::string& origin);

}  // namespace headroom
