#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/clock_drift.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/measure/precision.h"
#include "profiler/profile/latency_table.h"
#include "profiler/profile/profile.h"

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

/// Measurement effort for latency tables. Measurement runs in rounds over all points. After the minimum
/// number of visits, later rounds visit only points that are not precise enough yet. Rounds end when all
/// points are precise or the time is up. Unfinished points keep their larger error in the table.
struct LatencyEffort {
  bool coarse = false;         ///< uses about every second grid point of rows and columns
  double target_error = 0.05;  ///< relative standard error of a point
  int visits = 2;              ///< minimum number of visits of each point
  double seconds = 40;         ///< time limit; the first round always finishes
};

/// Effort, clock and progress callback of a measurement.
struct LatencyRequest {
  LatencyEffort effort;
  Clock clock;
  /// Receives the share done, the estimated seconds left and the name of the current table.
  std::function<void(double share, double seconds_left, const std::string& table)> progress;
};

struct MeasuredLatency {
  std::vector<LatencyTable> tables;
  MeasuredPrecision precision;  ///< decode_ratio is not set
};

/// Measures the cost of each kind of call over tile extents, for every step that the interpreter runs.
/// Extents go up to the whole tensors of the largest latent. Each visit is corrected for clock drift with a
/// nearby reference call, and a point's median visit counts. `points` receives the visits. On the CPU, the
/// largest extents of slow calls are not measured. Their cost is extrapolated in proportion to rows.
MeasuredLatency measure_latency_tables(const Graph& graph, const std::vector<Extent>& latents,
                                       Benchmark& benchmark, const LatencyRequest& request,
                                       MeasuredPoints& points);

/// Dry run on a benchmark that computes nothing. Makes each call of the full grid that would be measured.
void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark);

}  // namespace headroom::profiler
