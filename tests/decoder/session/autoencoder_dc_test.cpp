#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "planner/search/make_plan.h"
#include "tests/support/any_plan.h"
#include "tests/support/tiny_dc.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;

TEST_CASE("any plan of an AutoencoderDC gives the pixels of its untiled decode, within its predicted peak") {
  test::DrawnPlans seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed + 3000);
    const nlohmann::json config = test::random_dc_config(random);
    test::check_any_plan(config, seed, random, seen);
  }
  CHECK(seen.cut > 10);
  CHECK(seen.went_on > 10);
  CHECK(seen.below > 5);
  CHECK(seen.columns > 10);
}

TEST_CASE("in 16 bits what an AutoencoderDC keeps changes no bit, and fp32 is near") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed + 4000);
    const nlohmann::json config = test::random_dc_config(random);
    test::check_any_plan_in_16_bits(config, seed, random, 0.2, 0.05);
  }
}

TEST_CASE("plans of an AutoencoderDC end passes at optional cut points where that saves time or memory") {
  nlohmann::json config = test::tiny_dc_config();
  config["decoder_block_out_channels"] = {32, 64, 64};
  config["decoder_layers_per_block"] = {3, 3, 2};
  const Model model = test::model_of(config);
  const Request request = request_for(model, {1, 24, 20}, 2);
  const planner::CostModel costs(model.graph);
  const Plan ample = planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 40}, costs}).value();
  const auto rests = [&](const Plan& plan) {
    return std::count_if(plan.passes.begin(), plan.passes.end(),
                         [&](const Pass& pass) { return ends_at_cut_point(model.graph, pass); });
  };
  const Array input = test::latent_for(model, request, 5);
  const auto source = test::random_source(5);
  const Array picture = test::decode_to_memory(model, ample, source, input).picture;
  int64_t resting = rests(ample);
  for (int64_t limit = ample.predicted_peak_bytes; resting == 0; limit -= limit / 20) {
    CAPTURE(limit);
    const std::optional<Plan> small = planner::make_plan({model, request, {.limit_bytes = limit}, costs});
    REQUIRE(small.has_value());
    CHECK(small->optimal);
    resting = rests(*small);
    if (resting == 0) continue;
    const Array same = test::decode_to_memory(model, *small, source, input).picture;
    CHECK(test::relative_error(picture, same) <= test::kExact);
  }
}

}  // namespace
}  // namespace headroom
