#pragma once

#include <cstdint>

namespace headroom::kernels {

/// One row of outputs of a depthwise convolution. Channels lie side by side.
struct DepthwiseRow {
  const float* const* rows = nullptr;  ///< one for each row of the kernel, at the first output's window
  int64_t kernel_rows = 1, kernel_columns = 1;
  int64_t channels = 0;
  const float* kernel = nullptr;  ///< [row][column][channel]
  int64_t kernel_channels = 0;    ///< channels there, a multiple of 16
  const float* bias = nullptr;    ///< one for each channel
  float* out = nullptr;
  int64_t pixels = 0;
};

}  // namespace headroom::kernels
