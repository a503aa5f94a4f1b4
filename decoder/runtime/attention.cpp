#include "decoder/runtime/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

#include "decoder/runtime/rows.h"

namespace headroom {
namespace {

at::Tensor as_sequence(float* data, int64_t positions, int64_t channels) {
  return at::from_blob(data, {1, 1, positions, channels}, at::kFloat);
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
    float* total = result.view().blocks[static_cast<size_t>(item)];
    at::Tensor total_log;
    for (int64_t b = 0; b < keys.blocks_per_item; ++b) {
      const int64_t positions = std::min(keys.block_rows, rows - b * keys.block_rows) * columns;
      const auto i = static_cast<size_t>(item * keys.blocks_per_item + b);
      auto [part, part_log] = at::_scaled_dot_product_flash_attention_for_cpu(
          q, as_sequence(keys.blocks[i], positions, channels),
          as_sequence(values.blocks[i], positions, values.channels));
      part = part.contiguous();
      if (b == 0) {
        std::copy_n(part.const_data_ptr<float>(), count * values.channels, total);
        total_log = part_log.contiguous();
      } else {
        merge(total, total_log.data_ptr<float>(), part.const_data_ptr<float>(),
              part_log.contiguous().const_data_ptr<float>(), count, values.channels);
      }
    }
  }
  return result;
}

}  // namespace headroom
