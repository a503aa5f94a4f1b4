#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/clock.h"
#include "profiler/measure/measured_points.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/profile/latency_table.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// How well latency tables are measured. Every point is visited so often, in rounds over all of them; then
/// those that are not precise enough yet are visited again, round by round, until all are or the time is
/// over. Of what the time did not reach the error is larger, and the tables say so.
struct LatencyEffort {
  bool coarse = false;         ///< every second grid point of the rows and of the columns, roughly
  double target_error = 0.05;  ///< relative standard error of a point
  int visits = 2;              ///< of each point at the least
  double seconds = 40;         ///< after which no round begins and none of the later ones goes on
};

/// How latency tables are measured, and who hears of it.
struct LatencyRequest {
  LatencyEffort effort;
  Clock clock;
  /// Receives the share done, about how many seconds are left, and what is being measured.
  std::function<void(double share, double seconds_left, const std::string& table)> progress;
};

struct MeasuredLatency {
  std::vector<LatencyTable> tables;
  MeasuredPrecision precision;  ///< but for its decode_ratio
};

/// Measures what each kind of call of a decoder costs over the extents of its tile: every step that the
/// interpreter runs. Extents go up to those of the whole tensors of the largest latent. Each visit is
/// corrected for the clock drift that a reference call showed beside it, and the median of a point's visits
/// counts. `points` receives the visits. On the CPU, calls that take long are not measured at the largest
/// extents: from the largest that is, cost goes on in proportion to rows.
MeasuredLatency measure_latency_tables(const Graph& graph, const std::vector<Extent>& latents,
                                       Benchmark& benchmark, const LatencyRequest& request,
                                       MeasuredPoints& points);

/// Makes each of its calls once for a benchmark that computes nothing; more of them than a coarse grid has.
void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark);

}  // namespace headroom::profiler
