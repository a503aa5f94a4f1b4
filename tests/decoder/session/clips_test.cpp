#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/lowering/memory.h"
#include "decoder/lowering/tiles.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::norms_of;
using test::Random;
using test::request_for;

/// Draws plans of drawn models and holds their decodes against untiled ones. `least` is the shortest side of
/// a latent: a norm over few values has a deviation near 0 and multiplies what rounding left.
template <typename Draw>
void check_drawn_plans(uint64_t first_seed, int count, int64_t least, const Draw& draw) {
  int chunked = 0, carried = 0, one_frame = 0, below = 0, columns = 0, pictures = 0, staged = 0, attended = 0;
  const test::Scratch scratch;
  for (uint64_t seed = first_seed; seed < first_seed + static_cast<uint64_t>(count); ++seed) {
    Random random(seed);
    const test::DrawnModel drawn = draw(random);
    const Model& clips = drawn.model;
    const Extent latent{clips.decodes_clips ? random.integer(1, 5) : 1, random.integer(least, 6),
                        random.integer(least, 6)};
    const int64_t batch = random.integer(1, 2), micro_batch = random.integer(1, batch);
    CAPTURE(seed, drawn.text, latent.t, latent.y, latent.x, batch, micro_batch);
    const Request request = request_for(clips, latent, batch);
    // Half of the pictures without what lies before their frame; the untiled decode has it.
    const Model model = random.chance(0.5) ? for_frames(clips, request.frames) : clips;
    pictures += clips.decodes_clips && !model.decodes_clips ? 1 : 0;
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.3, 0.6, 1});
    style.most_tiles = 6;
    style.below = random.pick<double>({0, 0, 0.5});
    const PlanConfiguration configuration{
        micro_batch, random.chance(0.5) ? WeightResidency::per_pass : WeightResidency::resident,
        MemoryTier::scratch};
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    Plan plan = test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan;
    const bool in_file = test::limit_to_prediction(model.graph, scratch, plan);
    const std::vector<Violation> violations = validate(plan, model);
    const std::string violation = violations.empty() ? "" : violations[0].place + ": " + violations[0].what;
    CAPTURE(violation);
    REQUIRE(violations.empty());
    const Array input = test::latent_for(model, request, seed);
    const test::Decoded tiled = test::decode_to_memory(model, plan, test::random_source(seed), input);
    const Array untiled =
        test::decode_to_memory(clips, untiled_plan(clips, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(tiled.picture, untiled) <= test::kExact);
    CHECK(tiled.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
    for (const Pass& pass : plan.passes) {
      const bool chunks = pass.tiles.t.size() > 1;
      chunked += chunks ? 1 : 0;
      one_frame += chunks && pass.tiles.t.front().length() == 1 ? 1 : 0;
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
      for (const Step& step : pass.steps) carried += chunks && carried_frames(step) > 0 ? 1 : 0;
    }
    below += in_file ? 1 : 0;
    staged += test::staged_attentions(plan);
    for (const Op& op : model.graph.ops())
      attended += op.kind == OpKind::attention && op.frames != AttentionFrames::interleaved ? 1 : 0;
  }
  CHECK(chunked > 10);
  CHECK(carried > 10);
  CHECK(one_frame > 5);
  CHECK(below > 3);
  CHECK(staged >= attended / 10);
  CHECK(columns > 5);
  CHECK(pictures > 0);
}

TEST_CASE(
    "any plan of an AutoencoderKLWan gives the frames of its untiled decode, within its predicted peak") {
  check_drawn_plans(5000, 50, 1, test::random_wan_config);
}

TEST_CASE("any plan of Wan 2.2's network gives the frames of its untiled decode, within its predicted peak") {
  check_drawn_plans(9000, 60, 1, test::random_wan_22_config);
}

TEST_CASE("any plan of a CausalVAEModel gives the frames of its untiled decode, within its predicted peak") {
  check_drawn_plans(6000, 40, 4, test::random_causal_config);
}

TEST_CASE("any plan with attention of each frame with all before it gives the frames of the untiled decode") {
  check_drawn_plans(11000, 40, 2, test::random_causal_attention_model);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanVideo gives the frames of its untiled decode, within its peak") {
  check_drawn_plans(13000, 40, 2, test::random_hunyuan_video_config);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanVideo15 gives the frames of its untiled decode, within its peak") {
  check_drawn_plans(14000, 40, 1, test::random_hunyuan_video_15_config);
}

TEST_CASE("any plan of LTX's decoders gives the frames of its untiled decode, within its peak") {
  check_drawn_plans(15000, 60, 2, test::random_ltx_video_config);
}

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

TEST_CASE("in 16 bits what a clip's decode keeps changes no bit") {
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Random random(seed + 7000);
    const nlohmann::json config =
        seed % 2 == 0 ? test::random_wan_config(random) : test::random_causal_config(random);
    const Extent latent{random.integer(1, 4), random.integer(2, 5), random.integer(2, 5)};
    const Dtype dtype = random.pick<Dtype>({Dtype::bf16, Dtype::fp16});
    CAPTURE(seed, config.dump(), latent.t, latent.y, latent.x, name_of(dtype));
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, 1, dtype);
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
  }
}

TEST_CASE("of one frame a clip's decoder needs less memory and time, and fits where the other does not") {
  for (nlohmann::json config : {test::tiny_wan_config(), test::tiny_wan_22_config(),
                                test::tiny_causal_config(), test::tiny_hunyuan_video_config(),
                                test::tiny_hunyuan_video_15_config(), test::tiny_ltx2_video_config()}) {
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

/// Plans under falling limits until none fits: the frames must be those of the ample one's.
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
  check_falling_limits(test::causal_attention_model(16, true), {17, 6, 10});
  check_falling_limits(test::model_of(test::tiny_hunyuan_video_config()), {9, 6, 10});
  check_falling_limits(test::model_of(test::tiny_hunyuan_video_15_config()), {17, 4, 5});
  check_falling_limits(test::model_of(test::tiny_ltx2_video_config()), {17, 6, 10});
}

}  // namespace
}  // namespace headroom
