#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Converts values to 8-bit pixels (decoder/base/pixel_format.h).
void quantise(const float* values, int64_t count, uint8_t* out);

/// Pixels of a region for an 8-bit file. The source is either floats, which take() converts, or bytes.
class EightBitPixels {
 public:
  explicit EightBitPixels(const float* values) : values_(values) {}
  explicit EightBitPixels(const uint8_t* bytes) : bytes_(bytes) {}

  void take(int64_t first, int64_t count, uint8_t* out) const;
  /// Returns the pixels from element `first` on.
  EightBitPixels from(int64_t first) const {
    return values_ != nullptr ? EightBitPixels(values_ + first) : EightBitPixels(bytes_ + first);
  }

 private:
  const float* values_ = nullptr;
  const uint8_t* bytes_ = nullptr;  ///< set if values_ is null
};

/// Name of an 8-bit file format for messages, and whether it supports alpha.
struct EightBitFormat {
  const char* name;
  bool has_alpha;
};

/// Returns `shape`. Throws InputError naming `path` if the format cannot hold it. Allowed are 1 channel
/// (gray), 3 (RGB) and, with alpha, 4 (RGBA). Rows and columns must be below 2^31.
const PictureShape& require_eight_bit_shape(const PictureShape& shape, const std::filesystem::path& path,
                                            const EightBitFormat& format);

}  // namespace headroom
