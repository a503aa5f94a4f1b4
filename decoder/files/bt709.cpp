#include "decoder/files/bt709.h"

namespace headroom {
namespace {

// With R, G, B from 0 to 255 and L = 0.2126 R + 0.7152 G + 0.0722 B:
//   Y = 16 + 219 L / 255,  Cb = 128 + 224 (B - L) / (1.8556 * 255),  Cr = 128 + 224 (R - L) / (1.5748 * 255).
// Written as ratios, these have integers below 2^31, so the rounding is exact.
constexpr int32_t kLuma = 10000 * 255, kBlue = 18556 * 255, kRed = 15748 * 255;

/// Returns numerator / denominator + offset, rounded. Inputs from RGB bytes never give a negative result.
uint8_t rounded(int32_t numerator, int32_t denominator, int32_t offset) {
  return static_cast<uint8_t>((numerator + denominator / 2 + offset * denominator) / denominator);
}

}  // namespace

void rgb_to_bt709(const uint8_t* rgb, int64_t count, uint8_t* y, uint8_t* cb, uint8_t* cr) {
  for (int64_t i = 0; i < count; ++i, rgb += 3) {
    const int32_t red = rgb[0], green = rgb[1], blue = rgb[2];
    y[i] = rounded(219 * (2126 * red + 7152 * green + 722 * blue), kLuma, 16);
    cb[i] = rounded(224 * (9278 * blue - 2126 * red - 7152 * green), kBlue, 128);
    cr[i] = rounded(224 * (7874 * red - 7152 * green - 722 * blue), kRed, 128);
  }
}

}  // namespace headroom
