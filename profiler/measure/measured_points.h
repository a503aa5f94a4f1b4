#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiler/measure/precision.h"

namespace headroom::profiler {

/// Measurements of one grid point or held-out point so far.
struct MeasuredPoint {
  std::vector<Visit> visits;
  int64_t workspace_bytes = 0;
};

/// Raw measurements behind the latency tables.
struct MeasuredPoints {
  std::vector<double> reference_seconds;  ///< time of each reference call, in order
  /// By table name: grid points row by row, then held-out points.
  std::map<std::string, std::vector<MeasuredPoint>> tables;
};

}  // namespace headroom::profiler
