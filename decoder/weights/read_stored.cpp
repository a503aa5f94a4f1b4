#include "decoder/weights/read_stored.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"

namespace headroom {
namespace {

/// The shape of a 1×1 convolution without its kernel.
std::vector<int64_t> without_unit_kernel(const std::vector<int64_t>& shape) {
  for (size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] != 1) return shape;
  }
  return {shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(shape.size(), 2))};
}

}  // namespace

bool is_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored) {
  return without_unit_kernel(stored) == without_unit_kernel(parameter.shape);
}

void check_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored,
                        const std::string& where) {
  if (is_stored_shape(parameter, stored)) return;
  throw InputError(where + ": shape: expected " + printable(parameter.shape) + ", found " +
                   printable(stored));
}

void check_finite(const float* values, const Interval& elements, const std::string& where) {
  const int64_t bad = first_non_finite(values, elements.length());
  if (bad >= 0)
    throw InputError(where + ": element " + std::to_string(elements.begin + bad) + " is not finite");
}

}  // namespace headroom
