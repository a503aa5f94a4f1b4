#include "decoder/runtime/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

#include "decoder/kernels/storage.h"
#include "decoder/plan/memory.h"
#include "decoder/runtime/rows.h"

namespace headroom {
namespace {

at::Tensor as_sequence(void* data, int64_t positions, int64_t channels) {
  return at::from_blob(data, {1, 1, positions, channels}, at::kFloat);
}

/// Positions of a block of keys or values as fp32: where they lie, or a copy of those that are stored in 16
/// bits.
at::Tensor sequence_of(const MapView& map, size_t block, const Interval& positions) {
  const int64_t count = positions.length() * map.channels;
  auto* from = static_cast<std::byte*>(map.blocks[block]) +
               positions.begin * map.channels * bytes_per_element(map.dtype);
  if (map.dtype == Dtype::fp32) return as_sequence(from, positions.length(), map.channels);
  const at::Tensor copy = at::empty({1, 1, positions.length(), map.channels}, at::kFloat);
  float* to = copy.data_ptr<float>();
  at::parallel_for(0, count, 1 << 15, [&](int64_t begin, int64_t end) {
    kernels::widen(map.dtype, from + begin * bytes_per_element(map.dtype), to + begin, end - begin);
  });
  return copy;
}

/// Folds a partial result into a running one; both are means weighted by exp(their log-sum-exp).
void merge(float* total, float* total_log, const float* part, const float* part_log, int64_t queries,
           int64_t channels) {
  for_rows(1, {0, queries}, channels, [&](int64_t, int64_t i) {
    const float larger = std::max(total_log[i], part_log[i]);
    const float a = std::exp(total_log[i] - larger);
    const float b = std::exp(part_log[i] - larger);
    const float keep = a / (a + b);
    const float take = b / (a + b);
    float* to = total + i * channels;
    const float* from = part + i * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = to[c] * keep + from[c] * take;
    total_log[i] = larger + std::log(a + b);
  });
}

}  // namespace

Tile attend(const Tile& queries, const MapView& keys, const MapView& values, int64_t items) {
  const int64_t channels = queries.values.size(3);
  const int64_t count = queries.values.size(1) * queries.values.size(2);
  const int64_t columns = keys.region.x.length();
  const int64_t rows = keys.region.y.length();
  Tile result;
  result.region = queries.region;
  result.values =
      at::empty({items, queries.values.size(1), queries.values.size(2), values.channels}, at::kFloat);
  for (int64_t item = 0; item < items; ++item) {
    const at::Tensor q = as_sequence(queries.view().blocks[static_cast<size_t>(item)], count, channels);
    auto* total = static_cast<float*>(result.view().blocks[static_cast<size_t>(item)]);
    at::Tensor total_log;
    bool first = true;
    for (int64_t b = 0; b < keys.blocks_per_item; ++b) {
      const int64_t of_block = std::min(keys.block_rows, rows - b * keys.block_rows) * columns;
      const int64_t at_once =
          keys.dtype == Dtype::fp32 && values.dtype == Dtype::fp32 ? of_block : kWidenedPositions;
      const auto i = static_cast<size_t>(item * keys.blocks_per_item + b);
      for (int64_t begin = 0; begin < of_block; begin += at_once) {
        const Interval positions{begin, std::min(of_block, begin + at_once)};
        auto [part, part_log] = at::_scaled_dot_product_flash_attention_for_cpu(
            q, sequence_of(keys, i, positions), sequence_of(values, i, positions));
        part = part.contiguous();
        if (first) {
          std::copy_n(part.const_data_ptr<float>(), count * values.channels, total);
          total_log = part_log.contiguous();
        } else {
          merge(total, total_log.data_ptr<float>(), part.const_data_ptr<float>(),
                part_log.contiguous().const_data_ptr<float>(), count, values.channels);
        }
        first = false;
      }
    }
  }
  return result;
}

}  // namespace headroom
