#pragma once

#include <array>
#include <cstdint>

#include "decoder/operations/convolution.h"

namespace headroom::kernels {

/// Kernel taps along one axis: three of a plain kernel, or two for each of the two upsampling phases.
constexpr int64_t kPlainTaps = 3, kUpsampledTaps = 4;

/// transformed = map · taps, along one axis; in double, so that it is rounded once.
extern const std::array<std::array<double, kPlainTaps>, 6> kPlainKernelMap;
extern const std::array<std::array<double, kUpsampledTaps>, 8> kUpsampledKernelMap;

/// Inputs of one block. Rows outside the tile are null. Rows point at `first_column`, and only columns
/// [first_column, end_column) of the window are present. Absent inputs are zero.
struct WinogradInput {
  const float* const* rows = nullptr;  ///< as many as WinogradShape::in
  int64_t first_column = 0, end_column = 0;
  int64_t channels = 0;
  float* transformed = nullptr;  ///< [product][...]: `channels` floats rounded up to 16 for each product
  int64_t product_distance = 0;  ///< floats from one product to the next
};

/// Outputs of one block. Null rows are not written.
struct WinogradOutput {
  const float* products = nullptr;
  int64_t product_distance = 0;
  int64_t channels = 0;
  const float* bias = nullptr;   ///< `channels` values
  float* const* rows = nullptr;  ///< as many as WinogradShape::out
  int64_t first_column = 0, end_column = 0;
};

}  // namespace headroom::kernels
