#pragma once

#include <cstdint>
#include <vector>

#include "decoder/cpu/loops/storage.h"
#include "decoder/gpu/calls/calls.h"
#include "tests/support/random.h"

namespace headroom::test {

inline int32_t length(const gpu::Span& span) {
  return span.end - span.begin;
}

/// Calls `visit` for each position of a box.
template <typename Visit>
void for_positions(const gpu::Box& box, const Visit& visit) {
  for (int32_t t = box.t.begin; t < box.t.end; ++t) {
    for (int32_t y = box.y.begin; y < box.y.end; ++y) {
      for (int32_t x = box.x.begin; x < box.x.end; ++x) visit(t, y, x);
    }
  }
}

/// The box, extended by this many rows and columns on each side.
inline gpu::Box widened(const gpu::Box& box, int32_t rows, int32_t columns) {
  return {box.t, {box.y.begin - rows, box.y.end + rows}, {box.x.begin - columns, box.x.end + columns}};
}

/// A view and its host memory. The blocks lie in reverse order, the last one first.
struct HeldView {
  gpu::View view;
  std::vector<std::byte> memory;

  HeldView(const gpu::Box& region, int32_t channels, int32_t block_rows, Dtype dtype) {
    view.region = region;
    view.channels = channels;
    view.block_rows = block_rows;
    view.dtype = dtype;
    view.blocks = (length(region.y) + block_rows - 1) / block_rows;
    const int64_t bytes = int64_t{length(region.t)} * block_rows * length(region.x) * channels * element();
    const auto units = static_cast<uint32_t>((bytes + gpu::kBlockUnit - 1) / gpu::kBlockUnit);
    for (int32_t b = 0; b < view.blocks; ++b)
      view.block_units[b] = units * static_cast<uint32_t>(view.blocks - 1 - b);
    memory.resize(static_cast<size_t>(view.blocks) * units * gpu::kBlockUnit);
    view.base = memory.data();
  }
  HeldView(const HeldView&) = delete;
  HeldView& operator=(const HeldView&) = delete;

  int64_t element() const { return bytes_per_element(view.dtype); }
  int64_t values() const { return static_cast<int64_t>(memory.size()) / element(); }

  std::byte* place(int32_t t, int32_t y, int32_t x, int32_t channel) {
    const gpu::Box& region = view.region;
    const int32_t block = (y - region.y.begin) / view.block_rows;
    const int64_t row =
        int64_t{t - region.t.begin} * view.block_rows + (y - region.y.begin) % view.block_rows;
    const int64_t value = (row * length(region.x) + x - region.x.begin) * view.channels + channel;
    return memory.data() + view.block_units[block] * gpu::kBlockUnit + value * element();
  }
  float value(int32_t t, int32_t y, int32_t x, int32_t channel) {
    float result = 0;
    kernels::widen(view.dtype, place(t, y, x, channel), &result, 1);
    return result;
  }
  void set(int32_t t, int32_t y, int32_t x, int32_t channel, float value) {
    kernels::narrow(view.dtype, &value, place(t, y, x, channel), 1);
  }

  /// Fills all of the memory, including gaps between blocks.
  void fill(float value) {
    for (int64_t i = 0; i < values(); ++i)
      kernels::narrow(view.dtype, &value, memory.data() + i * element(), 1);
  }
  void fill(Random& random, double most) {
    for (int64_t i = 0; i < values(); ++i) {
      const auto value = static_cast<float>(random.uniform(-most, most));
      kernels::narrow(view.dtype, &value, memory.data() + i * element(), 1);
    }
  }
};

}  // namespace headroom::test
