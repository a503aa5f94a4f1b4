#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/lowering/memory.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::test {

/// What there was among plans that were drawn.
struct DrawnPlans {
  int cut = 0;      ///< passes that end at an optional cut point
  int went_on = 0;  ///< plans that went past one
  int below = 0;    ///< with something below the device
  int columns = 0;  ///< passes of several columns of tiles
  int parts = 0;    ///< passes in two parts
};

/// Draws a size and a plan for a model of this config, and decodes by it: the pixels must be those of the
/// untiled decode, within the predicted peak.
inline void check_any_plan(const nlohmann::json& config, uint64_t seed, Random& random, DrawnPlans& seen) {
  const Scratch scratch;
  const Extent latent{1, random.integer(1, 9), random.integer(1, 9)};
  const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
  CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch);
  const Model model = model_of(config);
  const Request request = request_for(model, latent, batch);
  RandomStyle style;
  style.keep = random.pick<double>({0, 0.3, 0.6, 0.9, 1});
  style.most_tiles = style.keep < 0.5 ? 8 : 20;
  style.below = random.pick<double>({0, 0, 0.5});
  if (style.below == 0 && random.chance(0.5)) style.above = 0.6;
  const PlanConfiguration configuration{
      micro_batch, random.chance(0.5) ? WeightResidency::per_pass : WeightResidency::resident,
      MemoryTier::scratch};
  MemoryModel memory = planner::CostModel(model.graph).memory();
  memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
  Plan plan = random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan;
  const bool in_file = limit_to_prediction(model.graph, scratch, plan);
  REQUIRE(validate(plan, model).empty());
  const Array input = latent_for(model, request, seed);
  const Decoded tiled = decode_to_memory(model, plan, random_source(seed), input);
  const Array untiled =
      decode_to_memory(model, untiled_plan(model, request), random_source(seed), input).picture;
  CHECK(relative_error(tiled.picture, untiled) <= kExact);
  CHECK(tiled.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
  for (const Pass& pass : plan.passes) {
    seen.cut += ends_at_cut_point(model.graph, pass) ? 1 : 0;
    seen.columns += pass.tiles.x.size() > 1 ? 1 : 0;
    seen.parts += pass.part == PassPart::lower ? 1 : 0;
  }
  seen.went_on += plan.passes.size() < barrier_targets(model.graph).size() ? 1 : 0;
  seen.below += in_file ? 1 : 0;
  const Plan halved = unlimited(with_halved_tiles(model, plan, memory));
  CHECK(halved.passes.size() == plan.passes.size());
  CHECK(validate(halved, model).empty());
}

/// In 16 bits what a drawn plan keeps changes no bit, and the picture is as near to fp32's as `error`.
inline void check_any_plan_in_16_bits(const nlohmann::json& config, uint64_t seed, Random& random,
                                      double error_of_bf16, double error_of_fp16) {
  const Extent latent{1, random.integer(2, 9), random.integer(2, 9)};
  const Dtype dtype = random.pick<Dtype>({Dtype::bf16, Dtype::fp16});
  CAPTURE(seed, config.dump(), latent.y, latent.x, name_of(dtype));
  const Model model = model_of(config);
  const Request request = request_for(model, latent, 2, dtype);
  RandomStyle style;
  style.form = ConvolutionAlgorithm::direct;
  style.keep = random.pick<double>({0, 0.5, 1});
  style.untiled_rows = style.untiled_columns = 1;
  const MemoryModel memory = planner::CostModel(model.graph).memory();
  Plan plan = random_plan(model, request, 1, style, memory, random, norms_of(model.graph)).plan;
  plan.limit_bytes = plan.predicted_peak_bytes;
  REQUIRE(validate(plan, model).empty());
  const Array input = latent_for(model, request, seed);
  const auto source = random_source(seed);
  const Array tiled = decode_to_memory(model, plan, source, input).picture;
  const Array untiled = decode_to_memory(model, untiled_plan(model, request), source, input).picture;
  CHECK(tiled.values == untiled.values);
  const Request full = request_for(model, latent, 2, Dtype::fp32);
  const Array exact = decode_to_memory(model, untiled_plan(model, full), source, input).picture;
  CHECK(relative_error(untiled, exact) <= (dtype == Dtype::bf16 ? error_of_bf16 : error_of_fp16));
}

}  // namespace headroom::test
