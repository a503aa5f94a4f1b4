#include "decoder/gpu/transfers/device_arrays.h"

#include <stdexcept>

#include "decoder/cpu/loops/storage.h"

namespace headroom {

gpu::Planes planes_of(const DeviceArray& array, int64_t item) {
  const size_t axes = array.shape.size();
  if (axes != 4 && axes != 5) throw std::logic_error("planes of an array without rows and columns");
  const std::vector<int64_t>& strides = array.strides;
  return {.first = array.values + item * strides[0] * bytes_per_element(array.dtype),
          .dtype = array.dtype,
          .channel = strides[1],
          .frame = axes == 5 ? strides[2] : 0,
          .row = strides[axes - 2],
          .column = strides[axes - 1]};
}

int64_t stretch_bytes(const DeviceArray& array) {
  int64_t last = 0;
  for (size_t axis = 0; axis < array.shape.size(); ++axis) {
    if (array.shape[axis] == 0) return 0;
    last += (array.shape[axis] - 1) * array.strides[axis];
  }
  return (last + 1) * bytes_per_element(array.dtype);
}

std::vector<float> values_of(const DeviceArray& array, HostCopies& copies) {
  const int64_t bytes = stretch_bytes(array), stored = bytes / bytes_per_element(array.dtype);
  std::vector<std::byte> stretch(static_cast<size_t>(bytes));
  copies.to_host({{array.values, bytes}}, stretch.data());
  std::vector<float> wide(static_cast<size_t>(stored));
  kernels::widen(array.dtype, stretch.data(), wide.data(), stored);
  int64_t count = 1;
  for (const int64_t length : array.shape) count *= length;
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number, at = 0;
    for (size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
      at += rest % array.shape[axis] * array.strides[axis];
    values.push_back(wide[static_cast<size_t>(at)]);
  }
  return values;
}

}  // namespace headroom
