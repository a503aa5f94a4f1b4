#include "decoder/files/eight_bit.h"

#include <algorithm>
#include <bit>
#include <string>

#include "decoder/graph/errors.h"

namespace headroom {

void quantise(const float* values, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(with_eight_bits(values[i])));
  }
}

void EightBitPixels::take(int64_t first, int64_t count, uint8_t* out) const {
  if (values_ != nullptr) return quantise(values_ + first, count, out);
  std::copy_n(bytes_ + first, count, out);
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
