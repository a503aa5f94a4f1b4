#pragma once

#include "decoder/gpu/transfers/gpu_weights.h"
#include "profiler/measure/clock.h"

namespace headroom::profiler {

/// Transfer rates between host and GPU.
struct GpuRates {
  double weights_bytes_per_second = 0;    ///< loading all parameters from host memory
  double to_host_bytes_per_second = 0;    ///< GPU to pinned host memory, copies alone
  double from_host_bytes_per_second = 0;  ///< pinned host memory to GPU
};

/// Reserves GPU memory for the parameters while it measures, at least 64 MiB. Throws LimitExceeded.
GpuRates measure_gpu_rates(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const HostWeights& weights,
                           const Clock& clock);

}  // namespace headroom::profiler
