#pragma once

#include "decoder/cpu/loops/lanes.h"
#include "decoder/cpu/loops/loops.h"

// The inner loop of every convolution: a block of rows × columns of the product stays in registers while
// depth goes by. Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

// Block size: as many sums as fit into registers beside the operands.
#if defined(__AVX512F__)
constexpr int kBlockRows = 6, kBlockLanes = 4;
#elif defined(__AVX2__)
constexpr int kBlockRows = 6, kBlockLanes = 2;
#else
constexpr int kBlockRows = 3, kBlockLanes = 2;
#endif

/// Stores the sums of a block to c. Most blocks are whole, and their sums never leave registers.
template <int kRows, int kWide>
__attribute__((always_inline)) inline void finish_block(const Product& product, int64_t row, int64_t column,
                                                        const Lanes (&sums)[kRows][kWide]) {
  float* c = product.c + row * product.c_row + column;
  if (product.columns - column >= kWide * kLanes) {
    Lanes bias[kWide] = {};
    if (product.bias != nullptr) {
      for (int j = 0; j < kWide; ++j) bias[j] = load(product.bias + column + j * kLanes);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i, c += product.c_row) {
#pragma GCC unroll 4
      for (int j = 0; j < kWide; ++j) {
        const Lanes value = sums[i][j] + bias[j];
        store(c + j * kLanes, product.add ? value + load(c + j * kLanes) : value);
      }
    }
    return;
  }
  for (int j = 0; j < kWide; ++j) {
    const int64_t at = j * kLanes, count = smaller(kLanes, product.columns - column - at);
    if (count <= 0) break;
    const Lanes bias = product.bias != nullptr ? load_part(product.bias + column + at, count) : Lanes{};
    for (int i = 0; i < kRows; ++i) {
      float* to = c + i * product.c_row + at;
      Lanes value = sums[i][j] + bias;
      if (product.add) value += load_part(to, count);
      store_part(to, value, count);
    }
  }
}

template <int kRows, int kWide, bool kAhead>
void multiply_block(const Product& product, int64_t row, int64_t column) {
  Lanes sums[kRows][kWide] = {};
  const float* a_begin = product.a + row * product.a_row;
  // Prefetch the next panel meanwhile, a share with each block of rows.
  const int64_t share = product.width * kBlockRows / product.rows + 1;
  const float* ahead = kAhead ? product.ahead + row / kBlockRows * product.depth * share : nullptr;
  for (int64_t tap = 0; tap < product.tap_count; ++tap) {
    const float* a = a_begin + product.taps[tap].a;
    const float* b = product.b + product.taps[tap].b + column;
    for (int64_t k = 0; k < product.depth; ++k, b += product.width) {
      if (kAhead) __builtin_prefetch(ahead + k * share, 0, 2);
      Lanes operand[kWide];
      for (int j = 0; j < kWide; ++j) operand[j] = load(b + j * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Lanes factor = spread(a[i * product.a_row + k]);
        for (int j = 0; j < kWide; ++j) sums[i][j] += factor * operand[j];
      }
    }
  }
  finish_block<kRows, kWide>(product, row, column, sums);
}

template <int kWide, bool kAhead>
void multiply_rows(const Product& product, int64_t column) {
  int64_t row = 0;
  for (; row + kBlockRows <= product.rows; row += kBlockRows)
    multiply_block<kBlockRows, kWide, kAhead>(product, row, column);
  switch (product.rows - row) {
    case 5:
      return multiply_block<5, kWide, kAhead>(product, row, column);
    case 4:
      return multiply_block<4, kWide, kAhead>(product, row, column);
    case 3:
      return multiply_block<3, kWide, kAhead>(product, row, column);
    case 2:
      return multiply_block<2, kWide, kAhead>(product, row, column);
    case 1:
      return multiply_block<1, kWide, kAhead>(product, row, column);
    default:
      return;
  }
}

void multiply(const Product& product) {
  int64_t column = 0;
  for (; column + kBlockLanes * kLanes <= product.width; column += kBlockLanes * kLanes) {
    product.ahead != nullptr ? multiply_rows<kBlockLanes, true>(product, column)
                             : multiply_rows<kBlockLanes, false>(product, column);
  }
  const int64_t left = (product.width - column) / kLanes;
  if (left == 3) multiply_rows<3, false>(product, column);
  if (left == 2) multiply_rows<2, false>(product, column);
  if (left == 1) multiply_rows<1, false>(product, column);
}

/// `kPixels` neighbouring outputs, a register of channels at a time: each weight is read once for all of
/// them.
template <int kPixels>
void depthwise_pixels(const DepthwiseRow& row, int64_t first) {
  const int64_t channels = row.channels;
  for (int64_t c = 0; c < channels; c += kLanes) {
    const int64_t count = smaller(kLanes, channels - c);
    Lanes sums[kPixels];
    const Lanes bias = load_part(row.bias + c, count);
    for (int i = 0; i < kPixels; ++i) sums[i] = bias;
    const float* weight = row.kernel + c;
    for (int64_t y = 0; y < row.kernel_rows; ++y) {
      const float* in = row.rows[y] + first * channels + c;
      for (int64_t x = 0; x < row.kernel_columns; ++x, in += channels, weight += row.kernel_channels) {
        const Lanes factor = load(weight);
        if (count == kLanes) {
          for (int i = 0; i < kPixels; ++i) sums[i] += factor * load(in + i * channels);
        } else {
          for (int i = 0; i < kPixels; ++i) sums[i] += factor * load_part(in + i * channels, count);
        }
      }
    }
    for (int i = 0; i < kPixels; ++i) store_part(row.out + (first + i) * channels + c, sums[i], count);
  }
}

void depthwise(const DepthwiseRow& row) {
  int64_t pixel = 0;
  for (; pixel + 4 <= row.pixels; pixel += 4) depthwise_pixels<4>(row, pixel);
  for (; pixel < row.pixels; ++pixel) depthwise_pixels<1>(row, pixel);
}

}  // namespace
}  // namespace headroom::kernels
