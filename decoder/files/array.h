#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// An array in the memory of a GPU, which the caller holds.
struct DeviceArray {
  std::byte* values = nullptr;
  Dtype dtype = Dtype::fp32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  ///< in elements, by axis; not negative
};

/// An fp32 array in C order: the last axis is contiguous.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// The values of an Array, of memory that the caller holds in the same layout, or of a DeviceArray.
struct ArrayView {
  ArrayView(const Array& array) : shape(array.shape), values(array.values.data()) {}  // NOLINT: implicit
  ArrayView(std::vector<int64_t> of_shape, const float* held) : shape(std::move(of_shape)), values(held) {}
  explicit ArrayView(const DeviceArray& array) : shape(array.shape), device(&array) {}

  std::vector<int64_t> shape;
  const float* values = nullptr;
  const DeviceArray* device = nullptr;  ///< set if the values are on the decode's GPU; `values` is null then
};

}  // namespace headroom
