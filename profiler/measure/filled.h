#pragma once

#include <memory>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"

namespace headroom::profiler {

// What calls are measured on: memory of a pool with values between -1 and 1, the same few thousand
// over and over.

void fill(float* values, int64_t count);
std::shared_ptr<float> filled(LimitedPool& pool, int64_t count);
/// As they are stored in this dtype: bytes.
std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype);
Region region_of(int64_t rows, int64_t columns);
Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels);

}  // namespace headroom::profiler
