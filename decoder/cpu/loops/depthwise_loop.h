#pragma once

#include "decoder/cpu/loops/depthwise.h"
#include "decoder/cpu/loops/lanes.h"

// Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

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
