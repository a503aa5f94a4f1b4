#include <catch2/catch.hpp>
#include <optional>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/support/sanitized.h"

// How kernels read and write views, by the simplest one. tests/decoder/session/gpu_operations_test.cpp tests
// every operation.
namespace headroom::gpu {
namespace {

using namespace test;
using Value = std::optional<double>;

TEST_CASE("copy: a region that both hold") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) {
          return has(box, at) ? Value(source.at(at)) : std::nullopt;
        }) == "");
}

TEST_CASE("copy: what is not a number stays none, what is too large becomes infinite") {
  Random random(3);
  const Box box{{0, 1}, {0, 1}, {0, 2}};
  for (const int32_t channels : {3, 8}) {
    for (const Dtype from : {Dtype::fp32, Dtype::bf16}) {
      for (const Dtype to : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
        Map source(random, box, channels, from), target(random, box, channels, to);
        source.set({0, 0, 0, 1}, NAN);
        source.set({0, 0, 1, 0}, INFINITY);
        source.set({0, 0, 1, 2}, 1e6f);
        start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
        CHECK(std::isnan(target.at({0, 0, 0, 1})));
        CHECK(target.at({0, 0, 1, 0}) == INFINITY);
        CHECK(std::isinf(target.at({0, 0, 1, 2})) == (to == Dtype::fp16));
      }
    }
  }
}

TEST_CASE("a region of more rows than a grid has") {
  Random random(8);
  const Box box{{0, 1}, {0, 70000}, {0, 1}};
  Map source(random, box, 1, Dtype::fp32, true), target(random, box, 1, Dtype::fp16, true);
  const Map before = target;
  start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) { return Value(source.at(at)); }) == "");
}

}  // namespace
}  // namespace headroom::gpu
