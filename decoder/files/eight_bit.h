#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Values as bytes for the screen (decoder/graph/pixel_format.h).
void quantise(const float* values, int64_t count, uint8_t* out);

/// A region's pixels for a file of 8 bits: values that become bytes as they are taken, or bytes already.
class EightBitPixels {
 public:
  explicit EightBitPixels(const float* values) : values_(values) {}
  explicit EightBitPixels(const uint8_t* bytes) : bytes_(bytes) {}

  void take(int64_t first, int64_t count, uint8_t* out) const;
  /// The pixels from value number `first` on.
  EightBitPixels from(int64_t first) const {
    return values_ != nullptr ? EightBitPixels(values_ + first) : EightBitPixels(bytes_ + first);
  }

 private:
  const float* values_ = nullptr;
  const uint8_t* bytes_ = nullptr;  ///< where there are no values
};

/// A format of 8 bits for the screen, in words, and whether it has alpha.
struct EightBitFormat {
  const char* name;
  bool has_alpha;
};

/// The shape. Throws InputError, which names `path`, unless there are 1 (gray), 3 (RGB) or, in a format with
/// alpha, 4 channels (RGBA), and fewer than 2^31 rows and columns.
const PictureShape& require_eight_bit_shape(const PictureShape& shape, const std::filesystem::path& path,
                                            const EightBitFormat& format);

}  // namespace headroom
