#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::norms_of;
using test::Random;
using test::request_for;

TEST_CASE("frames that attend to those before them do not depend on later ones, nor on how they are tiled") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
    CAPTURE(name_of(dtype));
    const Model model = test::causal_attention_model(8, false);
    constexpr int64_t kFrames = 5, kRows = 5, kColumns = 3;
    const Request request = request_for(model, {kFrames, kRows, kColumns}, 2, dtype);
    const Array input = test::latent_for(model, request, 3);
    const auto source = test::random_source(3);
    const Plan untiled = untiled_plan(model, request, ConvolutionAlgorithm::direct);
    const Array whole = test::decode_to_memory(model, untiled, source, input).picture;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Random random(seed + 12000);
      test::RandomStyle style;
      style.form = ConvolutionAlgorithm::direct;
      style.untiled_rows = style.untiled_columns = style.untiled_frames = 0.2;
      const MemoryModel memory = planner::CostModel(model.graph).memory();
      const Plan plan = test::unlimited(
          test::random_plan(model, request, 1, style, memory, random, norms_of(model.graph)).plan);
      REQUIRE(validate(plan, model).empty());
      CHECK(test::decode_to_memory(model, plan, source, input).picture.values == whole.values);
    }
    for (int64_t frames = 1; frames < kFrames; ++frames) {
      CAPTURE(frames);
      const Request shorter = request_for(model, {frames, kRows, kColumns}, 2, dtype);
      Array first = test::latent_for(model, shorter, 3);
      const int64_t of_frame = kRows * kColumns;
      for (int64_t plane = 0; plane < 2 * model.latent_channels; ++plane)
        std::copy_n(input.values.begin() + plane * kFrames * of_frame, frames * of_frame,
                    first.values.begin() + plane * frames * of_frame);
      const Array begun =
          test::decode_to_memory(model, untiled_plan(model, shorter, ConvolutionAlgorithm::direct), source,
                                 first)
              .picture;
      for (int64_t plane = 0; plane < 2 * 3; ++plane) {
        const int64_t count = frames * of_frame * 4;
        CHECK(std::equal(begun.values.begin() + plane * count, begun.values.begin() + (plane + 1) * count,
                         whole.values.begin() + plane * kFrames * of_frame * 4));
      }
    }
  }
}

TEST_CASE("of one frame a clip's decoder needs less memory and time, and fits where the other does not") {
  for (nlohmann::json config :
       {test::tiny_wan_config(), test::tiny_wan_22_config(), test::tiny_causal_config(),
        test::tiny_hunyuan_video_config(), test::tiny_hunyuan_video_15_config(),
        test::tiny_hunyuan_image_refiner_config(), test::tiny_ltx2_video_config(),
        test::tiny_seedvr2_config()}) {
    if (config.contains("block_out_channels")) config["block_out_channels"] = {32, 64};
    if (config.contains("upsample_factor")) config["decoder_block_out_channels"] = {64, 128};
    if (config.contains("base_dim")) config["base_dim"] = 32;
    CAPTURE(config.dump());
    const Model clips = test::model_of(config), pictures = for_frames(clips, 1);
    CHECK_FALSE(pictures.decodes_clips);
    const Request request = request_for(clips, {1, 6, 5});
    const planner::CostModel clip_costs(clips.graph), costs(pictures.graph);
    const planner::PlanOptions ample{.limit_bytes = int64_t{1} << 40};
    const Plan before = planner::make_plan({clips, request, ample, clip_costs}).value();
    const Plan after = planner::make_plan({pictures, request, ample, costs}).value();
    CHECK(after.predicted_peak_bytes < before.predicted_peak_bytes);
    CHECK(after.weights_bytes * 2 < before.weights_bytes);
    CHECK(after.predicted_seconds < before.predicted_seconds);
    const planner::Problem problem{pictures, request, {}, costs};
    Plan smallest = planner::smallest_plan(problem, planner::spaces_of(problem));
    smallest.limit_bytes = smallest.predicted_peak_bytes;
    CHECK_FALSE(planner::make_plan({clips, request, {.limit_bytes = smallest.limit_bytes}, clip_costs}));
    REQUIRE(validate(smallest, pictures).empty());
    const Array input = test::latent_for(clips, request, 5);
    const test::Decoded small = test::decode_to_memory(pictures, smallest, test::random_source(5), input);
    const test::Decoded whole = test::decode_to_memory(clips, before, test::random_source(5), input);
    CHECK(test::relative_error(small.picture, whole.picture) <= test::kExact);
    CHECK(small.stats.pool_peak_bytes + smallest.reserve_bytes <= smallest.predicted_peak_bytes);
  }
}

/// Decodes under falling limits until no plan fits. Requires the frames of the decode with ample memory.
void check_falling_limits(const Model& model, const Extent& latent) {
  CAPTURE(model.class_name);
  const Request request = request_for(model, latent);
  const planner::CostModel costs(model.graph);
  const Plan ample = planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 40}, costs}).value();
  const Array input = test::latent_for(model, request, 5);
  const auto source = test::random_source(5);
  const Array whole = test::decode_to_memory(model, ample, source, input).picture;
  int chunked = 0;
  for (int64_t limit = ample.predicted_peak_bytes;; limit = limit * 19 / 20) {
    CAPTURE(limit);
    const std::optional<Plan> small = planner::make_plan({model, request, {.limit_bytes = limit}, costs});
    if (!small) break;
    CHECK(small->optimal);
    for (const Pass& pass : small->passes) chunked += pass.tiles.t.size() > 1 ? 1 : 0;
    const test::Decoded same = test::decode_to_memory(model, *small, source, input);
    CHECK(test::relative_error(same.picture, whole) <= test::kExact);
    CHECK(same.stats.pool_peak_bytes + small->reserve_bytes <= small->predicted_peak_bytes);
  }
  CHECK(chunked > 0);
}

TEST_CASE("the planner cuts clips into chunks where that saves memory, and their frames are the same",
          "[long]") {
  nlohmann::json config = test::tiny_wan_config();
  config["base_dim"] = 16;
  check_falling_limits(test::model_of(config), {17, 4, 5});
  config["out_channels"] = 12;
  config["pixel_shuffle"] = 2;
  check_falling_limits(test::model_of(config), {9, 4, 5});
  check_falling_limits(test::causal_attention_model(16, true), {17, 6, 10});
  check_falling_limits(test::model_of(test::tiny_hunyuan_video_config()), {9, 6, 10});
  check_falling_limits(test::model_of(test::tiny_hunyuan_video_15_config()), {17, 4, 5});
  // The refiner's decoder makes no frames, so frames need much memory only where there are many channels.
  config = test::tiny_hunyuan_image_refiner_config();
  config["block_out_channels"] = {32, 16};
  check_falling_limits(test::model_of(config), {17, 4, 5});
  check_falling_limits(test::model_of(test::tiny_ltx2_video_config()), {17, 6, 10});
  check_falling_limits(test::model_of(test::tiny_seedvr2_config()), {9, 6, 10});
}

}  // namespace
}  // namespace headroom
