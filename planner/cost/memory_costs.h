#pragma once

#include <cstdint>

#include "decoder/lowering/memory.h"

namespace headroom::planner {

/// Threads that plans count on: as many as this process has processors, two at least.
int64_t planned_threads();

/// Workspace and reserve of a decode on the CPU with that many threads or fewer.
MemoryModel cpu_memory_model(const Graph& graph, int64_t threads = planned_threads());

/// Workspace of a decode on CUDA; nothing is allocated beside what is reserved at the start.
MemoryModel cuda_memory_model(const Graph& graph);

MemoryModel memory_model_of(const Graph& graph, DeviceKind device);

}  // namespace headroom::planner
