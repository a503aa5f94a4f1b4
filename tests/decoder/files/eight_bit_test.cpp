#include "decoder/files/eight_bit.h"

#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

TEST_CASE("8 bits: numpy's rounding, of every float around where bytes change") {
  std::vector<float> values{0.0f,   -0.0f, 1.0f,     -1.0f,     1.5f,   -1.5f,    3e38f,
                            -3e38f, NAN,   INFINITY, -INFINITY, 1e-40f, 0x1p-149f};
  for (int i = 0; i < 255; ++i) {
    float value = (static_cast<float>(i) + 0.5f) / 255.0f * 2.0f - 1.0f;
    for (int step = 0; step < 8; ++step) value = std::nextafter(value, -2.0f);
    for (int step = 0; step < 16; ++step) values.push_back(value = std::nextafter(value, 2.0f));
  }
  std::vector<uint8_t> bytes(values.size());
  quantise(values.data(), static_cast<int64_t>(values.size()), bytes.data());
  for (size_t i = 0; i < values.size(); ++i) {
    // Each step rounded by itself, as numpy has it.
    volatile float unit = values[i] * 0.5f;
    unit = unit + 0.5f;
    volatile float scaled = std::isnan(unit) ? 0.0f : std::fmin(std::fmax(unit, 0.0f), 1.0f);
    scaled = scaled * 255.0f;
    CAPTURE(values[i]);
    CHECK(bytes[i] == static_cast<uint8_t>(std::nearbyint(double(scaled))));
  }
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("files of 8 bits are the same of values and of bytes") {
  const Scratch scratch;
  for (const auto& [name, frames] : {std::pair{"a.png", 1}, {"a.y4m", 2}, {"frames/", 2}}) {
    const PictureShape shape{1, 3, frames, 9, 70};
    std::vector<float> values(static_cast<size_t>(3 * frames * 9 * 70));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) * 1.2f;
    std::vector<uint8_t> bytes(values.size());
    quantise(values.data(), static_cast<int64_t>(values.size()), bytes.data());
    std::vector<std::string> written;
    // Whole, and in two parts side by side.
    for (const bool as_bytes : {false, true}) {
      for (const int64_t middle : {70, 41}) {
        const auto sink = open_sink(scratch / name, shape);
        REQUIRE(sink->format() == PixelFormat::eight_bits);
        for (const Interval columns : {Interval{0, middle}, Interval{middle, 70}}) {
          if (columns.length() == 0) continue;
          std::vector<float> part;
          std::vector<uint8_t> byte_part;
          for (int64_t line = 0; line < frames * 9; ++line) {
            for (int64_t i = columns.begin * 3; i < columns.end * 3; ++i) {
              part.push_back(values[static_cast<size_t>(line * 70 * 3 + i)]);
              byte_part.push_back(bytes[static_cast<size_t>(line * 70 * 3 + i)]);
            }
          }
          const Region region{{0, frames}, {0, 9}, columns};
          if (as_bytes) {
            sink->write_bytes(0, region, byte_part.data());
          } else {
            sink->write(0, region, part.data());
          }
        }
        sink->finish();
        const std::string file = frames == 1 || std::string(name) == "a.y4m" ? name : "frames/00001.png";
        written.push_back(contents(scratch / file.c_str()));
        std::filesystem::remove_all(scratch / name);
      }
    }
    CHECK(written[0].size() > 100);
    for (const std::string& other : written) CHECK(other == written[0]);
  }
}

TEST_CASE("bytes are refused by a sink of values, and outside the picture") {
  const Scratch scratch;
  const uint8_t bytes[12] = {};
  const auto npy = open_sink(scratch / "a.npy", {1, 3, 1, 2, 2});
  CHECK(npy->format() == PixelFormat::fp32);
  CHECK_THROWS_AS(npy->write_bytes(0, {{0, 1}, {0, 2}, {0, 2}}, bytes), std::logic_error);
  const auto png = open_sink(scratch / "a.png", {1, 3, 1, 2, 2});
  CHECK_THROWS_AS(png->write_bytes(0, {{0, 1}, {0, 3}, {0, 2}}, bytes), std::logic_error);
  png->write_bytes(0, {{0, 1}, {0, 2}, {0, 2}}, bytes);
  CHECK_THROWS_AS(png->write_bytes(0, {{0, 1}, {1, 2}, {0, 2}}, bytes), std::logic_error);
}

TEST_CASE("8 bits: streams of pictures with alpha are PNG, and clips of them are refused") {
  check_output("-", {1, 4, 1, 8, 8});
  check_output("o.webp", {1, 4, 1, 8, 8});
  check_output("frames/", {1, 4, 5, 8, 8});
  test::require_input_error([] { check_output("-", {1, 4, 5, 8, 8}); }, {"-: Y4M has no alpha", "RGBA"});
  test::require_input_error(
      [] {
        check_output("-", {1, 12, 1, 8, 8});
      },
      {"-: expected 1, 3 or 4", "for PNG"});
}

}  // namespace
}  // namespace headroom
