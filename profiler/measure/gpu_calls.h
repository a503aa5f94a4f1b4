#pragma once

#include <string>

#include "decoder/gpu/gpu_device.h"
#include "profiler/measure/gpu_operands.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

// Calls on a GPU (Benchmark has what they are): the steps of GpuDevice on one item. All references must
// outlive them. Statistics, sums, scales and shifts of the graph must be there.

Call gpu_operation_call(const Graph& graph, const Op& op, GpuDevice& device, GpuOperands& operands,
                        int64_t rows, int64_t columns);
Call gpu_moving_call(const std::string& step, int64_t channels, GpuDevice& device, GpuOperands& operands,
                     int64_t rows, int64_t columns);

/// Gathers statistics and sums of a few values for all that the graph measures, and makes scales and shifts.
void prepare_statistics(const Graph& graph, const Plan& plan, GpuDevice& device, GpuOperands& operands);

}  // namespace headroom::profiler
