#pragma once

#include <cstdint>

#include "decoder/base/also_on_gpu.h"

namespace headroom {

/// Output format of pixel values: unchanged, or as bytes for the screen.
enum class PixelFormat { fp32, eight_bits };

constexpr int64_t bytes_per_value(PixelFormat format) {
  return format == PixelFormat::fp32 ? 4 : 1;
}

/// round(clamp(value / 2 + 0.5, 0, 1) * 255), ties to even as numpy rounds, in the low 8 bits of the result;
/// NaN gives 0.
HEADROOM_ALSO_ON_GPU inline float with_eight_bits(float value) {
  // Written so that NaN fails the first comparison. The clamp separates the product from the sum below, so no
  // compiler fuses them into one rounding.
  const float scaled = (value * 0.5f + 0.5f) * 255.0f;
  const float clamped = scaled > 0.0f ? (scaled < 255.0f ? scaled : 255.0f) : 0.0f;
  // 2^23 rounds to the nearest integer and leaves it in the low bits.
  return clamped + 0x1p23f;
}

}  // namespace headroom
