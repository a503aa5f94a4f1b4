#pragma once

#include "decoder/gpu/gpu_weights.h"
#include "profiler/measure/clock.h"

namespace headroom::profiler {

/// How fast bytes come onto a GPU and leave it.
struct GpuRates {
  double weights_bytes_per_second = 0;    ///< all parameters, from the host's memory
  double to_host_bytes_per_second = 0;    ///< copies to pinned host memory, on their own
  double from_host_bytes_per_second = 0;  ///< and from there
};

/// Reserves the GPU's memory meanwhile, as much as the parameters take, 64 MiB at least. Throws
/// LimitExceeded.
GpuRates measure_gpu_rates(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const HostWeights& weights,
                           const Clock& clock);

}  // namespace headroom::profiler
