#pragma once

#include <cstdint>

#include "decoder/schedule/memory.h"

namespace headroom::planner {

/// Number of threads assumed in plans: the processors that this process may use, but at least two.
int64_t planned_threads();

/// Workspace and reserve of a decode on the CPU with at most `threads` threads.
MemoryModel cpu_memory_model(const Graph& graph, int64_t threads = planned_threads());

/// Workspace of a decode on CUDA. There is no reserve, because a decode allocates nothing beyond its initial
/// reservation.
MemoryModel cuda_memory_model(const Graph& graph);

MemoryModel memory_model_of(const Graph& graph, const DeviceRecord& device);

}  // namespace headroom::planner
