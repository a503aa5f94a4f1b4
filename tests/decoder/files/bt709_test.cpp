#include "decoder/files/file_sinks.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace headroom {
namespace {

using Bytes = std::array<uint8_t, 3>;

Bytes converted(const Bytes& rgb) {
  Bytes out{};
  rgb_to_bt709(rgb.data(), 1, &out[0], &out[1], &out[2]);
  return out;
}

TEST_CASE("bt709: colours whose values are known") {
  CHECK(converted({0, 0, 0}) == Bytes{16, 128, 128});
  CHECK(converted({255, 255, 255}) == Bytes{235, 128, 128});
  CHECK(converted({255, 0, 0}) == Bytes{63, 102, 240});
  CHECK(converted({0, 255, 0}) == Bytes{173, 42, 26});
  CHECK(converted({0, 0, 255}) == Bytes{32, 240, 118});
}

TEST_CASE("bt709: everything is the nearest to the formula, grays have no colour") {
  std::vector<uint8_t> levels;
  for (int level = 0; level <= 255; level += 5) levels.push_back(static_cast<uint8_t>(level));
  levels.push_back(1);
  levels.push_back(254);
  int wrong = 0;
  for (const uint8_t red : levels) {
    for (const uint8_t green : levels) {
      for (const uint8_t blue : levels) {
        const double r = red / 255.0, g = green / 255.0, b = blue / 255.0;
        const double luma = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        const double expected[] = {16 + 219 * luma, 128 + 224 * (b - luma) / 1.8556,
                                   128 + 224 * (r - luma) / 1.5748};
        const Bytes found = converted({red, green, blue});
        for (size_t i = 0; i < 3; ++i) wrong += std::abs(found[i] - expected[i]) > 0.5 + 1e-9;
        if (red == green && green == blue) wrong += found[1] != 128 || found[2] != 128;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("bt709: pixels go to their own places in the planes") {
  const std::vector<uint8_t> rgb{255, 0, 0, 0, 0, 0, 0, 0, 255};
  std::vector<uint8_t> y(3), cb(3), cr(3);
  rgb_to_bt709(rgb.data(), 3, y.data(), cb.data(), cr.data());
  CHECK(y == std::vector<uint8_t>{63, 16, 32});
  CHECK(cb == std::vector<uint8_t>{102, 128, 240});
  CHECK(cr == std::vector<uint8_t>{240, 128, 118});
}

}  // namespace
}  // namespace headroom
