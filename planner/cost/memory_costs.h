#pragma once

#include <cstdint>

#include "decoder/lowering/memory.h"

namespace headroom::planner {

/// Bytes that LibTorch's attention takes for its own blocks of scores and results, one set for each thread.
/// `keys` are those of one call: the positions of one block of the keys' tensor.
int64_t attention_scratch_bytes(int64_t queries, int64_t keys, int64_t channels, int64_t threads);

/// Threads that plans count on: as many as this process has processors, which LibTorch takes by default; two
/// at least.
int64_t planned_threads();

/// Workspace and reserve of a decode on the CPU with that many threads or fewer.
MemoryModel cpu_memory_model(const Graph& graph, int64_t threads = planned_threads());

/// Workspace of a decode on CUDA; nothing is allocated beside what is reserved at the start.
MemoryModel cuda_memory_model(const Graph& graph);

MemoryModel memory_model_of(const Graph& graph, DeviceKind device);

}  // namespace headroom::planner
