#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {

/// An fp32 array in C order: the last axis is contiguous.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// The values of an Array, or of memory that the caller holds in the same layout.
struct ArrayView {
  ArrayView(const Array& array) : shape(array.shape), values(array.values.data()) {}  // NOLINT: implicit
  ArrayView(std::vector<int64_t> of_shape, const float* held) : shape(std::move(of_shape)), values(held) {}

  std::vector<int64_t> shape;
  const float* values;
};

}  // namespace headroom
