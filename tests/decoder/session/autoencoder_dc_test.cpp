#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/lowering/memory.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::norms_of;
using test::Random;
using test::request_for;
using test::unlimited;

TEST_CASE("any plan of an AutoencoderDC gives the pixels of its untiled decode, within its predicted peak") {
  int rested = 0, went_on = 0, below = 0, columns = 0;
  const test::Scratch scratch;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed + 3000);
    const nlohmann::json config = test::random_dc_config(random);
    const Extent latent{1, random.integer(1, 9), random.integer(1, 9)};
    const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
    CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch);
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, batch);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.3, 0.6, 0.9, 1});
    style.most_tiles = style.keep < 0.5 ? 8 : 20;
    style.below = random.pick<double>({0, 0, 0.5});
    const PlanConfiguration configuration{
        micro_batch, random.chance(0.5) ? WeightResidency::per_pass : WeightResidency::resident,
        MemoryTier::scratch};
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    Plan plan = test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan;
    const bool in_file = test::limit_to_prediction(model.graph, scratch, plan);
    REQUIRE(validate(plan, model).empty());
    const Array input = test::latent_for(model, request, seed);
    const test::Decoded tiled = test::decode_to_memory(model, plan, test::random_source(seed), input);
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(tiled.picture, untiled) <= test::kExact);
    CHECK(tiled.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
    const size_t most = barrier_targets(model.graph).size();
    for (const Pass& pass : plan.passes) {
      rested += ends_at_cut_point(model.graph, pass) ? 1 : 0;
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
    }
    went_on += plan.passes.size() < most ? 1 : 0;
    below += in_file ? 1 : 0;
    const Plan halved = unlimited(with_halved_tiles(model, plan, memory));
    CHECK(halved.passes.size() == plan.passes.size());
    CHECK(validate(halved, model).empty());
  }
  CHECK(rested > 10);
  CHECK(went_on > 10);
  CHECK(below > 5);
  CHECK(columns > 10);
}

TEST_CASE("in 16 bits what an AutoencoderDC keeps changes no bit, and fp32 is near") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed + 4000);
    const nlohmann::json config = test::random_dc_config(random);
    const Extent latent{1, random.integer(2, 9), random.integer(2, 9)};
    const Dtype dtype = random.pick<Dtype>({Dtype::bf16, Dtype::fp16});
    CAPTURE(seed, config.dump(), latent.y, latent.x, name_of(dtype));
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, 2, dtype);
    test::RandomStyle style;
    style.form = ConvolutionAlgorithm::direct;
    style.keep = random.pick<double>({0, 0.5, 1});
    style.untiled_rows = style.untiled_columns = 1;
    const MemoryModel memory = planner::CostModel(model.graph).memory();
    Plan plan = test::random_plan(model, request, 1, style, memory, random, norms_of(model.graph)).plan;
    plan.limit_bytes = plan.predicted_peak_bytes;
    REQUIRE(validate(plan, model).empty());
    const Array input = test::latent_for(model, request, seed);
    const auto source = test::random_source(seed);
    const Array tiled = test::decode_to_memory(model, plan, source, input).picture;
    const Array untiled = test::decode_to_memory(model, untiled_plan(model, request), source, input).picture;
    CHECK(tiled.values == untiled.values);
    const Request full = request_for(model, latent, 2, Dtype::fp32);
    const Array exact = test::decode_to_memory(model, untiled_plan(model, full), source, input).picture;
    CHECK(test::relative_error(untiled, exact) <= (dtype == Dtype::bf16 ? 0.2 : 0.05));
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
  const int64_t tight = ample.predicted_peak_bytes - (ample.predicted_peak_bytes - ample.weights_bytes) / 3;
  const Plan small = planner::make_plan({model, request, {.limit_bytes = tight}, costs}).value();
  CHECK(rests(ample) + rests(small) > 0);
  CHECK(small.optimal);
  const Array input = test::latent_for(model, request, 5);
  const auto source = test::random_source(5);
  const Array a = test::decode_to_memory(model, ample, source, input).picture;
  const Array b = test::decode_to_memory(model, small, source, input).picture;
  CHECK(test::relative_error(a, b) <= test::kExact);
}

}  // namespace
}  // namespace headroom
