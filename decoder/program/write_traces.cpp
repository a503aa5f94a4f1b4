#include "decoder/program/write_traces.h"

#include "decoder/trace/exports.h"
#include "decoder/trace/trace_file.h"

namespace headroom {

void write_traces(Trace trace, const Plan& plan, const Model& model, const RunStats& stats,
                  const std::string& trace_file, const std::string& chrome_file) {
  trace.model = plan.request.model;
  trace.device = stats.device;
  trace.libraries = stats.libraries;
  trace.limit_bytes = stats.limit_bytes;
  if (!trace_file.empty()) write_trace(trace_file, trace, plan, model.graph);
  if (!chrome_file.empty()) write_chrome_trace(chrome_file, trace, plan, model.graph);
}

}  // namespace headroom
