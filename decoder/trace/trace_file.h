#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"

namespace headroom {

constexpr int64_t kTraceVersion = 3;

/// Writes a "headroom.trace" file (docs/formats.md) in small pieces. Throws DeviceError.
void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan, const Graph& graph);
/// Returns the document as text. A rank sends its text to rank 0, which writes the file of all ranks
/// (decoder/trace/ranked_trace_file.h).
std::string trace_text(const Trace& trace, const Plan& plan, const Graph& graph);

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

/// Reads a trace of at most kMostTraceFileBytes. A million events take well below a second. Checks that
/// numbers are in range, times ascend and no kind of memory becomes negative. Throws InputError naming the
/// file and the key.
RecordedTrace read_trace(const std::filesystem::path& file);
/// Like read_trace(), from text. `origin` names the source in errors.
RecordedTrace trace_from_json(const std::string& text, const std::string& origin);
/// Builds the trace from a document whose long lists have already been parsed into `rows`.
RecordedTrace trace_of(const JsonFields& file, Trace rows);

}  // namespace headroom
