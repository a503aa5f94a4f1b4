#include "decoder/cpu/attention.h"

#include <algorithm>
#include <cmath>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/norm.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"
#include "decoder/operations/attention.h"

namespace headroom {
namespace {

using kernels::Product;
using kernels::Tap;

constexpr int64_t kPositionsAtOnce = 64;
constexpr Tap kOnly{};

/// Location of a head's q, k and v: the input, and the first of its channels.
struct HeadOffset {
  const MapView* input = nullptr;
  int64_t channel = 0;
};

std::vector<HeadOffset> head_offsets(const std::vector<MapView>& inputs, int64_t channels) {
  std::vector<HeadOffset> offsets;
  for (const MapView& input : inputs) {
    for (int64_t c = 0; c < input.channels; c += 3 * channels) offsets.push_back({&input, c});
  }
  return offsets;
}

/// Returns `count` values of one pixel as fp32, in place or in `buffer`.
const float* values_at(const HeadOffset& offset, const Row& row, int64_t x, int64_t channel, int64_t count,
                       float* buffer) {
  const MapView& map = *offset.input;
  const auto* from = static_cast<const std::byte*>(map.place(row, x)) +
                     (offset.channel + channel) * bytes_per_element(map.dtype);
  if (map.dtype == Dtype::fp32) return reinterpret_cast<const float*>(from);
  kernels::widen(map.dtype, from, buffer, count);
  return buffer;
}

/// Multiplies a `rows` × `depth` matrix by a packed matrix of `columns` columns.
void multiply(const float* a, int64_t rows, int64_t depth, const float* b, int64_t columns, float* c) {
  for (int64_t first = 0; first < columns; first += kernels::panel_columns()) {
    Product product;
    product.width = std::min(kernels::panel_columns(), columns - first);
    product.a = a;
    product.a_row = depth;
    product.b = b + first * depth;
    product.taps = &kOnly;
    product.tap_count = 1;
    product.depth = depth;
    product.c = c + first;
    product.c_row = columns;
    product.rows = rows;
    product.columns = product.width;
    kernels::loops().multiply(product);
  }
}

/// Index of an element in a matrix of `rows` rows that is cut into panels.
int64_t in_panels(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  const int64_t first = column / kernels::panel_columns() * kernels::panel_columns();
  return first * rows + row * std::min(kernels::panel_columns(), columns - first) + column - first;
}

}  // namespace

KeyValueSums::KeyValueSums(int64_t items, const LinearHeads& heads)
    : heads_(heads),
      sums_(static_cast<size_t>(items * heads.heads * heads.channels * (heads.channels + 1)), 0.0) {}

void KeyValueSums::add(const std::vector<MapView>& inputs, const Region& region, int64_t items) {
  const int64_t channels = heads_.channels, columns = padded_head_channels(channels);
  const std::vector<HeadOffset> offsets = head_offsets(inputs, channels);
  const int64_t rows = region.t.length() * region.y.length();  // of one item
  // Threads share the heads, so that each is summed in one order.
  parallel_for(0, items * heads_.heads, 1, [&](int64_t begin, int64_t end) {
    const auto floats = [](int64_t count) { return std::vector<float>(static_cast<size_t>(count)); };
    std::vector<float> keys = floats(channels * kPositionsAtOnce),
                       values = floats(kPositionsAtOnce * columns), sums = floats(channels * columns),
                       buffer = floats(2 * channels);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t x = region.x.begin; x < region.x.end; x += kPositionsAtOnce) {
        const int64_t pixels = std::min(kPositionsAtOnce, region.x.end - x);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t item = i / heads_.heads, head = i % heads_.heads;
          for (int64_t p = 0; p < pixels; ++p) {
            const float* from = values_at(offsets[static_cast<size_t>(head)], row_of(region, item * rows + r),
                                          x + p, channels, 2 * channels, buffer.data());
            for (int64_t c = 0; c < channels; ++c)
              keys[static_cast<size_t>(c * pixels + p)] = from[c] < 0 ? 0 : from[c];
            for (int64_t c = 0; c <= channels; ++c) {
              values[static_cast<size_t>(in_panels(pixels, columns, p, c))] =
                  c < channels ? from[channels + c] : 1;
            }
          }
          multiply(keys.data(), channels, pixels, values.data(), columns, sums.data());
          double* to = sums_.data() + i * floats_of_head();
          for (int64_t c = 0; c < channels; ++c) {
            const float* row = sums.data() + c * columns;
            for (int64_t k = 0; k <= channels; ++k) *to++ += double(row[k]);
          }
        }
      }
    }
  });
}

bool KeyValueSums::finite() const {
  return std::all_of(sums_.begin(), sums_.end(), [](double sum) { return std::isfinite(sum); });
}

void attend_linearly(LimitedPool& pool, const std::vector<MapView>& inputs, const LinearAttentionSums& over,
                     const MapView& target, const Region& region, int64_t items) {
  const KeyValueSums& sums = over.sums;
  const auto [heads, channels] = sums.heads();
  const int64_t columns = padded_head_channels(channels);
  const std::vector<HeadOffset> offsets = head_offsets(inputs, channels);
  // The sums in fp32, as the product reads them.
  const std::shared_ptr<float> packed = pool.take_floats(linear_attention_floats(heads, channels, items));
  float* matrices = packed.get();
  for (int64_t i = 0; i < items * heads; ++i) {
    const double* from = sums.of(i / heads, i % heads);
    float* to = matrices + i * channels * columns;
    std::fill_n(to, channels * columns, 0.0f);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = 0; k <= channels; ++k)
        to[in_panels(channels, columns, c, k)] = static_cast<float>(*from++);
    }
  }
  for_rows(items, region, region.x.length() * target.channels,
           [&, heads = heads, channels = channels](const Row& row) {
             std::vector<float> queries(static_cast<size_t>(kPositionsAtOnce * channels));
             std::vector<float> mixed(static_cast<size_t>(kPositionsAtOnce * columns));
             for (int64_t x = region.x.begin; x < region.x.end; x += kPositionsAtOnce) {
               const int64_t pixels = std::min(kPositionsAtOnce, region.x.end - x);
               for (int64_t head = 0; head < heads; ++head) {
                 for (int64_t p = 0; p < pixels; ++p) {
                   float* to = queries.data() + p * channels;
                   const float* from =
                       values_at(offsets[static_cast<size_t>(head)], row, x + p, 0, channels, to);
                   if (from != to) std::copy_n(from, channels, to);
                 }
                 kernels::activate(queries.data(), pixels * channels, Activation::relu);
                 multiply(queries.data(), pixels, channels,
                          matrices + (row.item * heads + head) * channels * columns, columns, mixed.data());
                 for (int64_t p = 0; p < pixels; ++p) {
                   const float* from = mixed.data() + p * columns;
                   const auto divisor = static_cast<float>(double(from[channels]) + over.epsilon);
                   float* to = target.at(row, x + p) + head * channels;
                   for (int64_t c = 0; c < channels; ++c) to[c] = from[c] / divisor;
                 }
               }
             }
           });
}

void cpu_steps::key_value_sums(CpuSteps& steps, const StepCall& call) {
  steps.sums.at(call.op->output).add(call.inputs, call.region, call.items);
}

void cpu_steps::linear_attention(CpuSteps& steps, const StepCall& call) {
  attend_linearly(steps.pool, call.inputs, {steps.sums.at(call.op->inputs.back()), call.op->epsilon},
                  call.target, call.region, call.items);
}

}  // namespace headroom
