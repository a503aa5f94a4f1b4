#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/graph/json_fields.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"

namespace headroom {

constexpr int64_t kTraceVersion = 3;

/// "headroom.trace" as docs/formats.md describes it, written bit by bit. Throws DeviceError.
void write_trace(const std::filesystem::path& file, const Trace& trace, const Plan& plan, const Graph& graph);
/// The same as a text; of one of several ranks it goes to the rank that writes them all
/// (decoder/trace/ranked_trace_file.h).
std::string trace_text(const Trace& trace, const Plan& plan, const Graph& graph);

/// The trace with what it does not know itself: the model, the device and the limit that it was recorded
/// with.
Trace described(Trace trace, const Plan& plan, const RunStats& stats);

/// What one step of a plan is called.
struct RecordedStep {
  std::string kind;    ///< as name_of(StepKind)
  int32_t layer = -1;  ///< index into RecordedTrace::layers
  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

/// A trace as its file holds it: with names in place of the plan and the graph that it was recorded with.
/// Layers of events are indices into `layers`.
struct RecordedTrace {
  Trace trace;  ///< `steps`, single durations, are not in the file
  std::vector<std::string> layers;
  std::vector<std::string> pass_names;  ///< by number of the pass; empty where it has no interval
  std::vector<RecordedStep> steps;      ///< parallel to trace.step_sums
};

constexpr int64_t kMostTraceFileBytes = int64_t{512} << 20;

/// Reads at most so many bytes: a million events in well below a second. Every number is checked against its
/// range, times ascend, and no kind of allocation is ever below zero. Throws InputError naming the file and
/// the key.
RecordedTrace read_trace(const std::filesystem::path& file);
/// The same of a text; `origin` names it in errors.
RecordedTrace trace_from_json(const std::string& text, const std::string& origin);
/// The same of a document whose long lists are in `rows` already.
RecordedTrace trace_of(const JsonFields& file, Trace rows);

}  // namespace headroom
