#include "decoder/weights/read_stored.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"

namespace headroom {
namespace {

constexpr std::ptrdiff_t kKernel = 2;  ///< the axes from here on are a kernel's: frames, rows, columns

/// The shape without a kernel of 1×1, and without the frames of a kernel of one frame.
std::vector<int64_t> without_unit_kernel(std::vector<int64_t> shape) {
  const auto kernel = shape.begin() + std::min<std::ptrdiff_t>(std::ssize(shape), kKernel);
  if (std::all_of(kernel, shape.end(), [](int64_t length) { return length == 1; })) {
    shape.erase(kernel, shape.end());
  } else if (shape.size() == 5 && *kernel == 1) {
    shape.erase(kernel);
  }
  return shape;
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
