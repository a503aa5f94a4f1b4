#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

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

TEST_CASE(
    "planes: emitted values are those of the tile, rounded as the host rounds, and nothing else changes") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = random.chance(0.7) ? 3 : any_channels(random);
  const Box box = any_box_of_picture(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  const float shift = random.chance(0.3) ? -1.5F : 0;
  AnyPlanes target(random, box, channels, any_dtype(random)), expected = target;
  source.each([&](const Position& at) {
    if (!has(box, at)) return;
    const float value = shift == 0 ? source.at(at) : source.at(at) + shift;
    kernels::narrow(expected.dtype, &value, expected.at(at), 1);
  });
  std::vector<uint32_t> flags(8);
  start(EmitPlanes{source.view(), box, shift, target.planes(), flags.data()}, nullptr);
  CHECK(std::memcmp(target.memory.data(), expected.memory.data(), target.memory.size()) == 0);
  CHECK(flags[0] == 0);
}

TEST_CASE("planes: loaded values are those of the planes") {
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

TEST_CASE("planes: one value that is not finite raises the flag, in either direction") {
  Random random(2);
  const Box box{{0, 2}, {1, 8}, {2, 21}}, inner{{1, 2}, {2, 8}, {3, 20}};
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    for (const Position at : {Position{1, 2, 3, 0}, {1, 7, 19, 2}, {0, 2, 3, 0}, {1, 2, 2, 2}}) {
      std::vector<uint32_t> flags(8);
      Map source(random, box, 3, Dtype::bf16);
      source.set(at, value);
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

}  // namespace
}  // namespace headroom::gpu
