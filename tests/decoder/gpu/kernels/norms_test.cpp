#include <catch2/catch.hpp>
#include <cmath>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/support/activated.h"

namespace headroom::gpu {
namespace {

using namespace test;
using headroom::test::activated;

TEST_CASE("activations of what is large, and of what is no number") {
  Random random(1);
  const Box box{{0, 1}, {0, 1}, {0, 1}};
  const std::vector<float> values{-1e30f, -200, -90, -60, 60, 90, 200, 1e30f};
  for (const Activation activation : {Activation::silu, Activation::relu, Activation::gelu, Activation::mish,
                                      Activation::clamp, Activation::soft_clamp, Activation::to_unit}) {
    CAPTURE(int(activation));
    Map tile(random, box, 9, Dtype::fp32), vectors(random, box, 8, Dtype::fp32);
    for (int32_t i = 0; i < 8; ++i) {
      tile.set({0, 0, 0, i}, values[static_cast<size_t>(i)]);
      vectors.set({0, 0, 0, i}, values[static_cast<size_t>(i)]);
    }
    tile.set({0, 0, 0, 8}, NAN);
    start(Activate{.tile = tile.view(), .activation = activation, .region = box}, nullptr);
    start(Activate{.tile = vectors.view(), .activation = activation, .region = box}, nullptr);
    for (int32_t i = 0; i < 8; ++i) {
      const double value = values[static_cast<size_t>(i)];
      const double expected =
          activation == Activation::mish && value > 0 ? value : activated(activation, value);
      CHECK(double(tile.at({0, 0, 0, i})) == Approx(expected).margin(1e-7));
      CHECK(vectors.at({0, 0, 0, i}) == tile.at({0, 0, 0, i}));
    }
    CHECK(std::isnan(tile.at({0, 0, 0, 8})));
  }
}

}  // namespace
}  // namespace headroom::gpu
