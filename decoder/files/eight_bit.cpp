#include "decoder/files/eight_bit.h"

#include <algorithm>
#include <bit>
#include <string>

#include "decoder/base/errors.h"

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

const PictureShape& require_eight_bit_shape(const PictureShape& shape, const std::filesystem::path& path,
                                            const EightBitFormat& format) {
  const std::string where = path.string() + ": ", name = format.name;
  if (shape.channels == kRgbaChannels && !format.has_alpha) {
    throw InputError(where + name + " has no alpha, and this picture has 4 channels (RGBA); use " +
                     (shape.frames > 1 ? "a folder, .npy or .safetensors" : ".png, .webp or .npy"));
  }
  if (shape.channels != 1 && shape.channels != 3 && shape.channels != kRgbaChannels) {
    throw InputError(where + "expected " + (format.has_alpha ? "1, 3 or 4" : "1 or 3") + " channels for " +
                     name + ", found " + std::to_string(shape.channels));
  }
  if (std::max(shape.rows, shape.columns) > int64_t{INT32_MAX})
    throw InputError(where + "expected fewer than 2^31 rows and columns for " + name);
  return shape;
}

}  // namespace headroom
