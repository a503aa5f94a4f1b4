#pragma once

#include <cstdint>

namespace headroom::kernels {

/// Read offsets of one tap of a convolution, in floats from the product's `a` and `b`.
struct Tap {
  int64_t a = 0;
  int64_t b = 0;
};

/// c[row][column] = sum over taps and depth of a[tap.a + row * a_row + k] * b[tap.b + k * width + column],
/// for one panel. A 1×1 convolution has one tap, a 3×3 one nine: rows are then neighbouring pixels.
struct Product {
  const float* a = nullptr;
  int64_t a_row = 0;  ///< floats between rows
  const float* b = nullptr;
  int64_t width = 0;  ///< of the panel (packing.h): a multiple of 16
  const Tap* taps = nullptr;
  int64_t tap_count = 0;
  int64_t depth = 0;
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t rows = 0;
  int64_t columns = 0;           ///< of c, at most `width`; further columns of b are ignored
  const float* bias = nullptr;   ///< `columns` values added to each row; null for none
  bool add = false;              ///< add to c instead of overwriting it
  const float* ahead = nullptr;  ///< the next panel, to be prefetched; may be null
};

}  // namespace headroom::kernels
