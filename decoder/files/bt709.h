#pragma once

#include <cstdint>

namespace headroom {

/// 8-bit RGB, [count][3], as BT.709's luma and colour differences in limited range: Y 16 to 235, Cb and Cr 16
/// to 240 around 128. Each is the exact value rounded to the nearest, halves up; grays have Cb = Cr = 128.
void rgb_to_bt709(const uint8_t* rgb, int64_t count, uint8_t* y, uint8_t* cb, uint8_t* cr);

}  // namespace headroom
