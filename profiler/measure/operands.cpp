#include "profiler/measure/operands.h"

#include <algorithm>
#include <vector>

#include "decoder/cpu/loops/storage.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kUnit = 256;  // alignment of views, in values

}  // namespace

void ColdBuffer::hold(int64_t values) {
  if (count_ >= values) return;
  values_.reset();
  count_ = std::max(values, apart_bytes_ / bytes_per_element(dtype_));
  values_ = take_(count_);
}

MapView ColdBuffer::next(int64_t rows, int64_t columns, int64_t channels) {
  const int64_t count = rows * columns * channels;
  hold(count);
  if (offset_ + count > count_) offset_ = 0;
  MapView view{.region = {{0, 1}, {0, rows}, {0, columns}},
               .channels = channels,
               .block_rows = rows,
               .blocks_per_item = 1,
               .blocks = {},
               .dtype = dtype_};
  view.blocks.push_back(static_cast<std::byte*>(values_.get()) + offset_ * bytes_per_element(dtype_));
  offset_ += (count + kUnit - 1) / kUnit * kUnit;
  return view;
}

void fill(float* values, int64_t count) {
  constexpr int64_t kDrawn = 4099;
  uint32_t state = 12345;
  for (int64_t i = 0; i < std::min(count, kDrawn); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = float(state >> 8) * 0x1p-23f - 1.0f;
  }
  for (int64_t i = kDrawn; i < count; i += kDrawn)
    std::copy_n(values, std::min(kDrawn, count - i), values + i);
}

std::shared_ptr<float> filled(LimitedPool& pool, int64_t count) {
  std::shared_ptr<float> values = pool.take_floats(count);
  fill(values.get(), count);
  return values;
}

std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype) {
  std::shared_ptr<void> bytes = pool.take(count * bytes_per_element(dtype));
  constexpr int64_t kChunk = 4099;
  std::vector<float> values(kChunk);
  fill(values.data(), kChunk);
  auto* to = static_cast<std::byte*>(bytes.get());
  for (int64_t i = 0; i < count; i += kChunk)
    kernels::narrow(dtype, values.data(), to + i * bytes_per_element(dtype), std::min(kChunk, count - i));
  return bytes;
}

Region region_of(int64_t rows, int64_t columns) {
  return {{0, 1}, {0, rows}, {0, columns}};
}

Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels) {
  Tile tile = make_tile(pool, region, channels, 1);
  fill(tile.values.get(), tile.value_count());
  return tile;
}

}  // namespace headroom::profiler
