#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "decoder/files/eight_bit.h"
#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/support/sanitized.h"

namespace headroom::gpu {
namespace {

using namespace test;

/// The pixels that a kernel wrote. `beside`: it also wrote outside them.
struct Emitted {
  std::vector<std::byte> pixels;
  bool not_finite = false, beside = false;
};

Emitted emitted(Map& source, const Box& region, PixelFormat format, float shift = 0) {
  int64_t values = 0;
  source.each([&](const Position& at) { values += has(region, at) ? 1 : 0; });
  const auto bytes = static_cast<size_t>(values * bytes_per_value(format));
  constexpr std::byte kUnused{0x5a};
  emulated::GuardedMemory memory((bytes + 15) / 16 * 16, true);
  std::memset(memory.data(), 0x5a, memory.size());
  std::vector<uint32_t> flags(8);  // a card reaches this test's heap, but not its stack
  uint32_t* flag = flags.data();
  start(Emit{source.view(), region, format, shift, memory.data(), flag}, nullptr);
  Emitted found;
  found.pixels.assign(memory.data(), memory.data() + bytes);
  found.not_finite = flag[0] == 1;
  for (size_t i = bytes; i < memory.size(); ++i) found.beside = found.beside || memory.data()[i] != kUnused;
  return found;
}

std::vector<float> values_of(const Map& source, const Box& region) {
  std::vector<float> values;
  source.each([&](const Position& at) {
    if (has(region, at)) values.push_back(source.at(at));
  });
  return values;
}

TEST_CASE("emit: a region's pixels one after another, as values and as the bytes that a file gets") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = random.chance(0.7) ? 3 : any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  const std::vector<float> values = values_of(source, box);
  const Emitted as_values = emitted(source, box, PixelFormat::fp32);
  CHECK(std::memcmp(as_values.pixels.data(), values.data(), as_values.pixels.size()) == 0);
  const Emitted as_bytes = emitted(source, box, PixelFormat::eight_bits);
  std::vector<uint8_t> bytes(values.size());
  quantise(values.data(), static_cast<int64_t>(values.size()), bytes.data());
  CHECK(std::memcmp(as_bytes.pixels.data(), bytes.data(), bytes.size()) == 0);
  for (const Emitted& one : {as_values, as_bytes}) {
    CHECK_FALSE(one.not_finite);
    CHECK_FALSE(one.beside);
  }
}

TEST_CASE("emit: bytes are rounded as the host rounds them, also beside every tie") {
  Random random(1);
  const Box box{{0, 1}, {0, 1}, {0, 255 * 41}};
  Map source(random, box, 1, Dtype::fp32);
  std::vector<float> values;
  for (int i = 0; i < 255; ++i) {
    // Halfway between two bytes, and the floats around that.
    const float tie = (static_cast<float>(i) + 0.5f) / 255.0f * 2.0f - 1.0f;
    for (int32_t step = -20; step <= 20; ++step)
      values.push_back(std::bit_cast<float>(std::bit_cast<int32_t>(tie) + step));
  }
  for (size_t i = 0; i < values.size(); ++i) source.set({0, 0, static_cast<int32_t>(i), 0}, values[i]);
  std::vector<uint8_t> bytes(values.size());
  quantise(values.data(), static_cast<int64_t>(values.size()), bytes.data());
  const Emitted found = emitted(source, box, PixelFormat::eight_bits);
  CHECK(std::memcmp(found.pixels.data(), bytes.data(), bytes.size()) == 0);
}

TEST_CASE("emit: a shift is added in fp32, whatever the tile's dtype") {
  Random random(3);
  const Box box{{0, 1}, {0, 4}, {0, 9}};
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    Map source(random, box, 3, dtype);
    std::vector<float> shifted = values_of(source, box);
    for (float& value : shifted) value += -1.0F;
    const Emitted found = emitted(source, box, PixelFormat::fp32, -1);
    CHECK(std::memcmp(found.pixels.data(), shifted.data(), found.pixels.size()) == 0);
  }
}

TEST_CASE("emit: one value that is not finite raises the flag, wherever it is") {
  Random random(2);
  const Box box{{0, 2}, {1, 8}, {2, 21}};
  const Box inner{{1, 2}, {2, 8}, {3, 20}};
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    for (const PixelFormat format : {PixelFormat::fp32, PixelFormat::eight_bits}) {
      for (const Position at : {Position{1, 2, 3, 0}, {1, 7, 19, 2}, {1, 5, 11, 1}}) {
        Map source(random, box, 3, Dtype::bf16);
        source.set(at, value);
        CHECK(emitted(source, inner, format).not_finite);
      }
      Map source(random, box, 3, Dtype::bf16);
      source.set({0, 2, 3, 0}, value);
      source.set({1, 2, 2, 2}, value);
      CHECK_FALSE(emitted(source, inner, format).not_finite);
    }
  }
}

TEST_CASE("check finite: any of many values raises the flag") {
  for (const int64_t count : {1, 24, 300, 100000}) {
    std::vector<double> values(static_cast<size_t>(count), 1e300);
    std::vector<uint32_t> flags(8);  // on the heap, as above
    uint32_t& flag = flags[0];
    start(CheckFinite{values.data(), count, &flag}, nullptr);
    CHECK(flag == 0);
    for (const size_t bad : {size_t{0}, values.size() / 2, values.size() - 1}) {
      for (const double value : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        std::vector<double> broken = values;
        broken[bad] = value;
        flag = 0;
        start(CheckFinite{broken.data(), count, &flag}, nullptr);
        CHECK(flag == 1);
      }
    }
  }
}

}  // namespace
}  // namespace headroom::gpu
