#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// Frames per second as a ratio: 24 is 24 / 1, television's 29.97 is 30000 / 1001.
struct FrameRate {
  int64_t frames = 24;
  int64_t seconds = 1;
};

/// Parses "24" or "30000/1001". Each number is 1 to 1,000,000. Throws InputError naming `option`.
FrameRate parse_frame_rate(const std::string& text, const std::string& option);

}  // namespace headroom
