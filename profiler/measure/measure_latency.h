#pragma once

#include <functional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/clock.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// Measures what each kind of call of a decoder costs over the extents of its tile: every step that the
/// interpreter runs. Extents go up to those of the whole tensors of the largest latent. Each point is
/// measured in `sweeps` sweeps. The median of their medians counts, corrected for the clock drift that a
/// reference call showed beside each. `progress` receives the share done and what is being measured.
std::vector<LatencyTable> measure_latency_tables(
    const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark, int sweeps,
    const Clock& clock, const std::function<void(double, const std::string&)>& progress);

/// Makes each of its calls once, in the same order, for a benchmark that computes nothing.
void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark);

}  // namespace headroom::profiler
