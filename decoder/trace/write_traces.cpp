#include "decoder/trace/exports.h"
#include "decoder/trace/trace_file.h"

namespace headroom {

void write_traces(const Trace& trace, const Plan& plan, const Graph& graph, const TraceFiles& files) {
  if (!files.trace.empty()) write_trace(files.trace, trace, plan, graph);
  if (!files.chrome.empty()) write_chrome_trace(files.chrome, trace, plan, graph);
  if (!files.csv.empty()) write_trace_csv(files.csv, trace, graph);
}

Trace described(Trace trace, const Plan& plan, const RunStats& stats) {
  trace.model = plan.request.model;
  trace.request = plan.request;
  trace.device = stats.device;
  trace.libraries = stats.libraries;
  trace.limit_bytes = stats.limit_bytes;
  return trace;
}

}  // namespace headroom
