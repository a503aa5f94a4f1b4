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

/// A region inside a picture.
Box any_box_of_picture(Random& random, int32_t channels) {
  Box box = any_box(random, channels);
  for (Span* const span : {&box.y, &box.x}) {
    const int32_t up = std::max(0, -span->begin);
    *span = {span->begin + up, span->end + up};
  }
  return box;
}

/// Planes with axes in any order and gaps between rows, NaNs beside the values.
struct AnyPlanes {
  AnyPlanes(Random& random, const Box& box, int32_t channels, Dtype of_dtype) : dtype(of_dtype) {
    const int64_t extents[] = {channels, box.t.end, box.y.end, box.x.end};
    std::vector<size_t> order{3, 2, 1, 0};  // the innermost axis first
    if (random.chance(0.5)) std::swap(order[0], order[static_cast<size_t>(random.integer(1, 3))]);
    int64_t stride = random.integer(1, 2);
    for (const size_t axis : order) {
      strides[axis] = stride;
      stride = stride * extents[axis] + random.integer(0, 2);
    }
    memory = {static_cast<size_t>(stride * bytes_per_element(dtype)), random.chance(0.5)};
    std::memset(memory.data(), 0xff, memory.size());
  }
  Planes planes() { return {memory.data(), dtype, strides[0], strides[1], strides[2], strides[3]}; }
  std::byte* at(const Position& p) {
    return memory.data() + (p.c * strides[0] + p.t * strides[1] + p.y * strides[2] + p.x * strides[3]) *
                               bytes_per_element(dtype);
  }
  Dtype dtype;
  int64_t strides[4] = {};
  emulated::GuardedMemory memory;
};

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

TEST_CASE("emit: a region's pixels as values, as the bytes that a file gets, and as planes of any order") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = random.chance(0.7) ? 3 : any_channels(random);
  const Box box = any_box_of_picture(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  const float shift = random.chance(0.3) ? -1.5F : 0;
  AnyPlanes planes(random, box, channels, any_dtype(random)), expected = planes;
  std::vector<float> values;
  source.each([&](const Position& at) {
    if (!has(box, at)) return;
    values.push_back(shift == 0 ? source.at(at) : source.at(at) + shift);  // in fp32
    kernels::narrow(expected.dtype, &values.back(), expected.at(at), 1);
  });
  std::vector<uint8_t> bytes(values.size());
  quantise(values.data(), static_cast<int64_t>(values.size()), bytes.data());
  const Emitted as_values = emitted(source, box, PixelFormat::fp32, shift),
                as_bytes = emitted(source, box, PixelFormat::eight_bits, shift);
  CHECK(std::memcmp(as_values.pixels.data(), values.data(), as_values.pixels.size()) == 0);
  CHECK(std::memcmp(as_bytes.pixels.data(), bytes.data(), bytes.size()) == 0);
  for (const Emitted& one : {as_values, as_bytes}) {
    CHECK_FALSE(one.not_finite);
    CHECK_FALSE(one.beside);
  }
  std::vector<uint32_t> flags(8);
  start(EmitPlanes{source.view(), box, shift, planes.planes(), flags.data()}, nullptr);
  CHECK(std::memcmp(planes.memory.data(), expected.memory.data(), planes.memory.size()) == 0);
  CHECK(flags[0] == 0);
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

TEST_CASE("load: loaded values are those of the planes") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box_of_picture(random, channels);
  AnyPlanes source(random, box, channels, any_dtype(random));
  Map target{random, box, channels, Dtype::fp32};
  Map before = target;
  target.each([&](const Position& at) {
    const float value = static_cast<float>(random.uniform(-3, 3));
    kernels::narrow(source.dtype, &value, source.at(at), 1);
  });
  std::vector<uint32_t> flags(8);
  start(LoadPlanes{source.planes(), target.view(), flags.data()}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> std::optional<double> {
          float value = 0;
          kernels::widen(source.dtype, source.at(at), &value, 1);
          return value;
        }).empty());
  CHECK(flags[0] == 0);
}

TEST_CASE("emit, load: one value that is not finite raises the flag, wherever it is in the region") {
  Random random(2);
  const Box box{{0, 2}, {1, 8}, {2, 21}}, inner{{1, 2}, {2, 8}, {3, 20}};
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    for (const Position at :
         {Position{1, 2, 3, 0}, {1, 7, 19, 2}, {1, 5, 11, 1}, {0, 2, 3, 0}, {1, 2, 2, 2}}) {
      Map source(random, box, 3, Dtype::bf16);
      source.set(at, value);
      for (const PixelFormat format : {PixelFormat::fp32, PixelFormat::eight_bits})
        CHECK(emitted(source, inner, format).not_finite == has(inner, at));
      std::vector<uint32_t> flags(8);
      AnyPlanes planes(random, box, 3, Dtype::fp32);
      start(EmitPlanes{source.view(), inner, 0, planes.planes(), flags.data()}, nullptr);
      CHECK(flags[0] == (has(inner, at) ? 1 : 0));
      Map target(random, box, 3, Dtype::fp32);
      target.each([&](const Position& each) {
        const float stored = each.t == at.t && each.y == at.y && each.x == at.x && each.c == at.c ? value : 1;
        kernels::narrow(planes.dtype, &stored, planes.at(each), 1);
      });
      flags[0] = 0;
      start(LoadPlanes{planes.planes(), target.view(), flags.data()}, nullptr);
      CHECK(flags[0] == 1);
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
