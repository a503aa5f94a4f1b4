#pragma once

#include <memory>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"

namespace headroom::profiler {

// Operand memory of measured calls, allocated from a pool. Filled with a repeating sequence of a few thousand
// values between -1 and 1.

void fill(float* values, int64_t count);
std::shared_ptr<float> filled(LimitedPool& pool, int64_t count);
/// Filled memory for `count` values, converted to the dtype.
std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype);
Region region_of(int64_t rows, int64_t columns);
Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels);

}  // namespace headroom::profiler
