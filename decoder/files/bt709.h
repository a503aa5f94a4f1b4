#pragma once

#include <cstdint>

namespace headroom {

/// Converts 8-bit RGB, [count][3], to BT.709 YCbCr in limited range. Y is 16 to 235. Cb and Cr are 16 to
/// 240, centred on 128. Each value is rounded to nearest, halves up. Gray gives Cb = Cr = 128.
void rgb_to_bt709(const uint8_t* rgb, int64_t count, uint8_t* y, uint8_t* cb, uint8_t* cr);

}  // namespace headroom
