#pragma once

#include <ATen/core/Tensor.h>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"

namespace headroom::profiler {

// What calls are measured on: memory of the current pool with values between -1 and 1, the same few thousand
// over and over.

void fill(float* values, int64_t count);
at::Tensor filled(at::IntArrayRef shape);
/// As they are stored in this dtype: bytes.
at::Tensor filled_buffer(int64_t count, Dtype dtype);
Region region_of(int64_t rows, int64_t columns);
Tile filled_tile(int64_t rows, int64_t columns, int64_t channels);

}  // namespace headroom::profiler
