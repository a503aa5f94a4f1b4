#include "tests/support/tiny_pictures.h"

#include <catch2/catch.hpp>

#include "tests/support/any_plan.h"

namespace headroom {
namespace {

using test::Random;

TEST_CASE(
    "any plan of an AutoencoderTiny gives the pixels of its untiled decode, within its predicted peak") {
  test::DrawnPlans seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed + 5000);
    const nlohmann::json config = test::random_autoencoder_tiny_config(random);
    test::check_any_plan(config, seed, random, seen);
  }
  CHECK(seen.cut > 10);
  CHECK(seen.went_on > 10);
  CHECK(seen.below > 5);
  CHECK(seen.columns > 10);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanImage gives the pixels of its untiled decode, within its peak") {
  test::DrawnPlans seen;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed + 6000);
    const nlohmann::json config = test::random_hunyuan_image_config(random);
    test::check_any_plan(config, seed, random, seen);
  }
  CHECK(seen.below > 3);
  CHECK(seen.columns > 10);
}

TEST_CASE("in 16 bits what these decoders keep changes no bit, and fp32 is near") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed + 7000);
    const nlohmann::json config = random.chance(0.7) ? test::random_autoencoder_tiny_config(random)
                                                     : test::random_hunyuan_image_config(random);
    test::check_any_plan_in_16_bits(config, seed, random, 0.2, 0.05);
  }
}

}  // namespace
}  // namespace headroom
