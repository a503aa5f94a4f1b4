#pragma once

#include <string>

#include "decoder/cli/progress.h"
#include "decoder/graph/model.h"
#include "decoder/plan/stats.h"
#include "decoder/runtime/weights.h"

namespace headroom {

/// A plan to run and where its record goes; file names may be empty.
struct RecordRequest {
  std::string plan_file;
  std::string latent;  ///< seeded random where empty
  std::string trace_file;
  std::string chrome_file;
  int threads = 0;
};

/// Runs the plan, drops the picture and writes what was recorded.
RunStats record_plan(const Model& model, const RecordRequest& request, const ParameterSource& weights,
                     Progress& progress);

}  // namespace headroom
