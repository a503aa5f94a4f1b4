#pragma once

#include "decoder/plan/plan.h"
#include "decoder/plan/stats_file.h"

namespace headroom::test {

/// Statistics of a run that matched the plan's predictions exactly.
inline RunStats run_as_predicted(const Plan& plan) {
  RunStats stats;
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = stats.peak_bytes = stats.pool_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = stats.seconds = plan.predicted_seconds;
  for (const Pass& pass : plan.passes) {
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, pass.predicted_peak_bytes,
                            pass.predicted_seconds, pass.predicted_seconds});
  }
  stats.device = "two cores";
  stats.libraries = "LibTorch";
  stats.threads = 2;
  return stats;
}

}  // namespace headroom::test
