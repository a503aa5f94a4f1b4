#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/stats.h"
#include "decoder/progress/progress.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/program/watching.h"

namespace headroom::profiler {

/// A plan to run and where its record goes.
struct RecordRequest {
  std::string plan_file;
  std::string latent;  ///< seeded random where empty
  std::string trace_file;
  std::string device;  ///< that the plan must be for; any where empty
  Watching watching;   ///< of a GPU
  int threads = 0;
};

/// Measurements of the run, and warnings for people about gaps in the record.
struct Recorded {
  RunStats stats;
  std::vector<std::string> warnings;
};

/// Runs the plan on its device, drops the picture and writes the record. A failure to watch the GPU does not
/// stop the decode.
Recorded record_plan(const Model& model, const RecordRequest& request, const ParameterSource& weights,
                     Progress& progress);

}  // namespace headroom::profiler
