#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "decoder/kernels/gpu/calls.h"
#include "decoder/kernels/storage.h"
#include "tests/support/random.h"

namespace headroom::test {

/// A view with memory of its own, which takes its blocks in any order, with gaps between them. Whatever is
/// not set is NaN.
class StoredView {
 public:
  StoredView(Random& random, const gpu::Box& region, int32_t channels, int32_t block_rows, Dtype dtype)
      : value_bytes_(bytes_per_element(dtype)) {
    view_.region = region;
    view_.channels = channels;
    view_.block_rows = block_rows;
    view_.blocks = (region.y.end - region.y.begin + block_rows - 1) / block_rows;
    view_.dtype = dtype;
    const int64_t units =
        (values_of_block() * value_bytes_ + gpu::kBlockUnit - 1) / gpu::kBlockUnit + random.integer(0, 2);
    std::vector<uint32_t> order;
    for (int32_t i = 0; i < view_.blocks; ++i) order.push_back(static_cast<uint32_t>(i));
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.integer(0, int64_t(i) - 1)]);
    const auto first = static_cast<uint32_t>(random.integer(0, 2));
    std::fill(std::begin(view_.block_units), std::end(view_.block_units), gpu::kAbsent);
    for (int32_t i = 0; i < view_.blocks; ++i)
      view_.block_units[i] = first + order[static_cast<size_t>(i)] * static_cast<uint32_t>(units);
    memory_.resize(static_cast<size_t>((view_.blocks * units + first + 1) * gpu::kBlockUnit),
                   std::byte{0xff});
    const auto begin = reinterpret_cast<uintptr_t>(memory_.data()) % gpu::kBlockUnit;
    view_.base = memory_.data() + (gpu::kBlockUnit - begin) % gpu::kBlockUnit;
  }
  StoredView(const StoredView&) = delete;
  StoredView& operator=(const StoredView&) = delete;

  const gpu::View& view() const { return view_; }

  float get(int32_t t, int32_t y, int32_t x, int32_t c) const {
    float value = 0;
    kernels::widen(view_.dtype, place(t, y, x, c), &value, 1);
    return value;
  }
  void set(int32_t t, int32_t y, int32_t x, int32_t c, float value) {
    kernels::narrow(view_.dtype, &value, place(t, y, x, c), 1);
  }
  template <typename Value>
  void fill(Value&& value) {
    const gpu::Box& all = view_.region;
    for (int32_t t = all.t.begin; t < all.t.end; ++t) {
      for (int32_t y = all.y.begin; y < all.y.end; ++y) {
        for (int32_t x = all.x.begin; x < all.x.end; ++x) {
          for (int32_t c = 0; c < view_.channels; ++c) set(t, y, x, c, value());
        }
      }
    }
  }

  const std::vector<std::byte>& memory() const { return memory_; }
  /// Where memory differs from what it was before, beside one region of the view.
  bool differs_beside(const gpu::Box& region, const std::vector<std::byte>& before) const {
    std::vector<std::byte> now = memory_;
    for (int32_t t = region.t.begin; t < region.t.end; ++t) {
      for (int32_t y = region.y.begin; y < region.y.end; ++y) {
        for (int32_t x = region.x.begin; x < region.x.end; ++x) {
          const int64_t at = place(t, y, x, 0) - memory_.data();
          std::copy_n(before.begin() + at, view_.channels * value_bytes_, now.begin() + at);
        }
      }
    }
    return now != before;
  }

 private:
  int64_t values_of_block() const {
    const gpu::Box& all = view_.region;
    return int64_t{all.t.end - all.t.begin} * view_.block_rows * (all.x.end - all.x.begin) * view_.channels;
  }
  const std::byte* place(int32_t t, int32_t y, int32_t x, int32_t c) const {
    const gpu::Box& all = view_.region;
    const int32_t row = y - all.y.begin, block = row / view_.block_rows;
    const int64_t line = int64_t{t - all.t.begin} * view_.block_rows + row % view_.block_rows;
    return view_.base + view_.block_units[block] * gpu::kBlockUnit +
           ((line * (all.x.end - all.x.begin) + x - all.x.begin) * view_.channels + c) * value_bytes_;
  }
  std::byte* place(int32_t t, int32_t y, int32_t x, int32_t c) {
    return const_cast<std::byte*>(std::as_const(*this).place(t, y, x, c));
  }

  gpu::View view_;
  int64_t value_bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace headroom::test
