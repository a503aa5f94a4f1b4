#pragma once

#include <memory>
#include <string>

#include "profiler/measure/cold_buffer.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

// Calls on the CPU, in memory of the current pool (Benchmark has what they are).

std::shared_ptr<ColdBuffer> cpu_cold_buffer(Dtype dtype);
Call cpu_operation_call(const Graph& graph, const Op& op, ConvolutionAlgorithm form,
                        const std::shared_ptr<ColdBuffer>& store, int64_t rows, int64_t columns);
Call cpu_moving_call(const std::string& step, int64_t channels, const std::shared_ptr<ColdBuffer>& store,
                     int64_t rows, int64_t columns);

}  // namespace headroom::profiler
