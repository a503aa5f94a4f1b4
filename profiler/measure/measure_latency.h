#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/benchmark.h"
#include "profiler/profile/latency_table.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Effort, clock and progress callback of a measurement.
struct LatencyRequest {
  bool coarse = false;  ///< uses about every second grid point of rows and columns
  Clock clock;
  /// Receives the estimated seconds left and the name of the current table, from the second one on.
  std::function<void(double seconds_left, const std::string& table)> progress;

  /// Relative standard error at which a point's calls are not repeated again.
  double target_error() const { return coarse ? 0.10 : 0.05; }
};

struct MeasuredLatency {
  std::vector<LatencyTable> tables;
  MeasuredPrecision precision;  ///< waited_share and decode_ratio are not set
};

/// Measures the cost of each kind of call over tile extents, for every step that the interpreter runs.
/// Extents go up to the whole tensors of the largest latent. On the CPU, the largest extents of slow calls
/// are not measured. Their cost is extrapolated in proportion to rows.
MeasuredLatency measure_latency_tables(const Graph& graph, const std::vector<Extent>& latents,
                                       Benchmark& benchmark, const LatencyRequest& request);

/// Dry run on a benchmark that computes nothing. Makes each call of the full grid that would be measured.
void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark);

}  // namespace headroom::profiler
