#include "profiler/measure/cold_buffer.h"

#include <algorithm>

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

}  // namespace headroom::profiler
