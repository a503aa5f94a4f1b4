#include "decoder/files/eight_bit.h"

#include <algorithm>
#include <bit>
#include <string>

#include "decoder/graph/errors.h"

namespace headroom {

void quantise(const float* values, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    const float unit = values[i] * 0.5f + 0.5f;
    // Written so that NaN fails the first comparison.
    const float clamped = unit > 0.0f ? (unit < 1.0f ? unit : 1.0f) : 0.0f;
    // Adding 2^23 rounds to the nearest integer, ties to even, and leaves it in the low bits.
    out[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(clamped * 255.0f + 0x1p23f));
  }
}

const PictureShape& require_eight_bit_shape(const PictureShape& shape, const std::filesystem::path& path) {
  const std::string format = path.has_extension() ? path.extension().string() : "a folder of .png";
  if (shape.channels != 1 && shape.channels != 3) {
    throw InputError(path.string() + ": expected 1 or 3 channels for " + format + ", found " +
                     std::to_string(shape.channels));
  }
  if (std::max(shape.rows, shape.columns) > int64_t{INT32_MAX}) {
    throw InputError(path.string() + ": expected fewer than 2^31 rows and columns for " + format);
  }
  return shape;
}

}  // namespace headroom
