#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Names what was recorded and writes it to the files that are given.
void write_traces(Trace trace, const Plan& plan, const Model& model, const RunStats& stats,
                  const std::string& trace_file, const std::string& chrome_file);

}  // namespace headroom
