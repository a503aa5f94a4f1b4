#pragma once

#include <memory>
#include <string>

#include "profiler/measure/operator_benchmark.h"
#include "profiler/measure/cold_buffer.h"

namespace headroom {

// Calls on the CPU, in memory of the current pool (Bench has what they are).

std::shared_ptr<Store> cpu_store(Dtype dtype);
Call cpu_operation_call(const Graph& graph, const Op& op, ConvolutionForm form,
                        const std::shared_ptr<Store>& store, int64_t rows, int64_t columns);
Call cpu_moving_call(const std::string& step, int64_t channels, const std::shared_ptr<Store>& store,
                     int64_t rows, int64_t columns);

}  // namespace headroom
