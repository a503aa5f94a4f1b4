#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tests/air_card/values.h"

namespace headroom::air {

/// Extents and strides: batch or outputs, channels, frames, rows, columns. Strides are in values.
struct Tensor {
  ValueType type = ValueType::fp32;
  std::array<int64_t, 5> extents{}, strides{};
  void* data = nullptr;

  /// Bytes from the first value to the end of the last one.
  int64_t bytes() const {
    int64_t last = 0;
    for (size_t axis = 0; axis < 5; ++axis) last += (extents[axis] - 1) * strides[axis];
    return (last + 1) * value_bytes(type);
  }
};

/// y = x * w + added[0] + added[1] …, without padding. Sums are in fp32 and are rounded once. An added tensor
/// is broadcast along axes of extent 1.
struct DirectConvolution {
  Tensor x, w, y;
  std::vector<Tensor> added;
  bool tf32 = false;  ///< rounds x and w to TF32
};
void run(const DirectConvolution& convolution);

}  // namespace headroom::air
