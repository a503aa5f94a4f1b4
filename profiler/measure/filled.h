#pragma once

#include <memory>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"

namespace headroom::profiler {

// Operand memory of measured calls, from a pool. A few thousand values between -1 and 1 repeat.

void fill(float* values, int64_t count);
std::shared_ptr<float> filled(LimitedPool& pool, int64_t count);
/// The values in this dtype.
std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype);
Region region_of(int64_t rows, int64_t columns);
Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels);

}  // namespace headroom::profiler
