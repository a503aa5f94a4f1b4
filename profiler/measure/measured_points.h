#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiler/measure/precision.h"

namespace headroom::profiler {

/// A point of a latency table, or one that is held out, as far as it was measured.
struct MeasuredPoint {
  std::vector<Visit> visits;
  int64_t workspace_bytes = 0;
};

/// All that was measured for latency tables.
struct MeasuredPoints {
  std::vector<double> reference_seconds;  ///< the looks at the clock drift, in order
  /// By latency table: its points, row by row, and then those held out.
  std::map<std::string, std::vector<MeasuredPoint>> tables;
};

}  // namespace headroom::profiler
