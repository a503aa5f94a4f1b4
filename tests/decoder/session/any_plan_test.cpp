#include <catch2/catch.hpp>

#include "decoder/schedule/tiles.h"
#include "tests/support/any_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_encoders.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

// Decodes by random plans, for every model family.
namespace headroom {
namespace {

using test::DecodeStyle;
using test::DrawnDecode;
using test::Random;

/// Number of plans with each feature.
struct Seen {
  int in_place = 0, columns = 0, one_row = 0, in_micro_batches = 0, in_file = 0, cut = 0, went_on = 0;
  int chunked = 0, one_frame = 0, carried_frames = 0, pictures = 0, staged = 0, attended = 0;

  void count(const DrawnDecode& decode) {
    const Plan& plan = decode.plan;
    const Graph& graph = decode.model.graph;
    for (const KeptTensor& entry : plan.kept) in_place += entry.in_place_of != TensorId{-1} ? 1 : 0;
    for (const Pass& pass : plan.passes) {
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
      one_row += pass.tiles.y.size() > 1 && pass.tiles.y.front().length() == 1 ? 1 : 0;
      cut += ends_at_cut_point(graph, pass) ? 1 : 0;
      const bool chunks = pass.tiles.t.size() > 1;
      chunked += chunks ? 1 : 0;
      one_frame += chunks && pass.tiles.t.front().length() == 1 ? 1 : 0;
      for (const Step& step : pass.steps)
        carried_frames += chunks && carried_positions(pass, step) > 0 ? 1 : 0;
    }
    in_micro_batches += plan.micro_batch < plan.request.batch ? 1 : 0;
    went_on += plan.passes.size() < barrier_targets(graph).size() ? 1 : 0;
    pictures += decode.drawn.model.decodes_clips && !decode.model.decodes_clips ? 1 : 0;
    staged += test::staged_attentions(plan);
    for (const Op& op : graph.ops())
      attended += op.kind == OpKind::attention && op.frames != AttentionFrames::interleaved ? 1 : 0;
  }
};

/// Decodes random models by random plans. Requires the pixels of the untiled decodes.
template <typename Draw>
Seen check_any_plan(uint64_t first_seed, uint64_t count, const DecodeStyle& style, const Draw& draw) {
  Seen seen;
  const test::Scratch scratch;
  for (uint64_t seed = first_seed; seed < first_seed + count; seed += test::kSeedStep) {
    DrawnDecode decode = test::draw_decode(seed, style, draw);
    const Extent& latent = decode.latent_extent;
    CAPTURE(seed, decode.drawn.text, latent.t, latent.y, latent.x, decode.request.batch,
            decode.plan.micro_batch);
    const test::TiledAndUntiled both = test::decode_both(decode, scratch);
    CHECK(test::relative_error(both.tiled.picture, both.untiled) <= test::kExact);
    const Plan halved = test::unlimited(with_halved_tiles(decode.model, decode.plan, decode.memory()));
    CHECK(halved.passes.size() == decode.plan.passes.size());
    CHECK(validate(halved, decode.model).empty());
    seen.count(decode);
    seen.in_file += both.tiled.stats.scratch_written_bytes > 0 ? 1 : 0;
  }
  CHECK(test::often(seen.columns, 5));
  CHECK(test::often(seen.in_file, 3));
  CHECK(test::often(seen.in_micro_batches, 3));
  return seen;
}

template <typename Draw>
void check_any_plan_of_clips(uint64_t first_seed, uint64_t count, int64_t least_side, const Draw& draw) {
  // A norm over few values has a deviation near 0, which amplifies rounding errors.
  const DecodeStyle style{.least_side = least_side, .most_side = 6, .most_batch = 2};
  const Seen seen = check_any_plan(first_seed, count, style, draw);
  CHECK(test::often(seen.chunked, 10));
  CHECK(test::often(seen.carried_frames, 10));
  CHECK(test::often(seen.one_frame, 5));
  if (!test::kSanitized) CHECK(seen.staged >= seen.attended / 20);
  CHECK(test::often(seen.pictures, 0));
}

TEST_CASE("any plan of an AutoencoderKL gives the pixels of its untiled decode, within its peak") {
  const Seen seen = check_any_plan(0, 120, {.most_side = 12}, test::random_config);
  CHECK(test::often(seen.in_place, 10));
  CHECK(test::often(seen.columns, 30));
  CHECK(test::often(seen.one_row, 10));
  CHECK(test::often(seen.in_file, 20));
  CHECK(test::often(seen.staged, 3));
}

TEST_CASE("any plan of an AutoencoderDC gives the pixels of its untiled decode, within its peak") {
  const Seen seen = check_any_plan(3000, 60, {}, test::random_dc_config);
  CHECK(test::often(seen.cut, 10));
  CHECK(test::often(seen.went_on, 10));
}

TEST_CASE("any plan of an AutoencoderTiny gives the pixels of its untiled decode, within its peak") {
  const Seen seen = check_any_plan(5000, 60, {}, test::random_autoencoder_tiny_config);
  CHECK(test::often(seen.cut, 10));
  CHECK(test::often(seen.went_on, 10));
}

TEST_CASE("any plan of TAEF2's network gives the pixels of its untiled decode, within its peak") {
  const Seen seen = check_any_plan(5800, 40, {.least_side = 3}, test::random_taef2_config);
  CHECK(test::often(seen.cut, 10));
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanImage gives the pixels of its untiled decode, within its peak") {
  check_any_plan(6000, 30, {}, test::random_hunyuan_image_config);
}

TEST_CASE("any plan of an AutoencoderKLWan gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(15000, 50, 1, test::random_wan_config);
}

TEST_CASE(
    "any plan of an upscaling AutoencoderKLWan gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(20000, 40, 1, test::random_wan_upscale_config);
}

TEST_CASE("any plan of HunyuanImage 3's decoder gives the pixels of its untiled decode, within its peak") {
  check_any_plan(9000, 40, {.least_side = 3}, test::random_hunyuan_image_3_config);
}

TEST_CASE("any plan of Wan 2.2's network gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(19000, 60, 1, test::random_wan_22_config);
}

TEST_CASE("any plan of a CausalVAEModel gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(16000, 40, 4, test::random_causal_config);
}

TEST_CASE("any plan with attention of each frame with all before it gives the frames of the untiled decode") {
  check_any_plan_of_clips(11000, 40, 2, test::random_causal_attention_model);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanVideo gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(13000, 40, 2, test::random_hunyuan_video_config);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanVideo15 gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(14000, 40, 1, test::random_hunyuan_video_15_config);
}

TEST_CASE("any plan of a TAEHV gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(5500, 40, 1, test::random_taehv_config);
}

TEST_CASE("any plan of SeedVR2's decoder gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(12000, 40, 2, test::random_seedvr2_config);
}

TEST_CASE(
    "any plan of an AutoencoderKLTemporalDecoder gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(18000, 40, 4, test::random_temporal_decoder_config);
}

TEST_CASE("any plan of an AutoencoderKLCogVideoX gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(21000, 40, 2, test::random_cogvideox_config);
}

TEST_CASE("any plan of HunyuanImage's refiner gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(12000, 40, 1, test::random_hunyuan_image_refiner_config);
}

TEST_CASE("any plan of LTX's decoders gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(17000, 60, 2, test::random_ltx_video_config);
}

TEST_CASE("any plan of LTX-Video with a time step gives the frames of its untiled decode, within its peak") {
  check_any_plan_of_clips(18500, 40, 1, test::random_conditioned_ltx_video_config);
}

TEST_CASE("any plan of an AutoencoderKL's encoder gives the values of its untiled encode, within its peak") {
  check_any_plan(21000, 40, {.least_side = 2, .most_side = 6}, test::random_encoder);
}

TEST_CASE("any plan of an AutoencoderDC's encoder gives the values of its untiled encode, within its peak") {
  check_any_plan(22000, 40, {.least_side = 2, .most_side = 6}, test::random_dc_encoder);
}

TEST_CASE("any plan of an AutoencoderTiny's encoder gives the values of its untiled encode") {
  check_any_plan(31000, 40, {}, test::random_autoencoder_tiny_encoder);
}

TEST_CASE("any plan of an AutoencoderKLHunyuanImage's encoder gives the values of its untiled encode") {
  check_any_plan(29000, 40, {.least_side = 2, .most_side = 6}, test::random_hunyuan_image_encoder);
}

TEST_CASE(
    "any plan of an AutoencoderKLWan's encoder gives the values of its untiled encode, within its peak") {
  check_any_plan_of_clips(23000, 40, 1, test::random_wan_encoder);
}

TEST_CASE("any plan of the encoder of Wan 2.2's network gives the values of its untiled encode") {
  check_any_plan_of_clips(24000, 40, 1, test::random_wan_22_encoder);
}

TEST_CASE("any plan of an AutoencoderKLHunyuanVideo's encoder gives the values of its untiled encode") {
  check_any_plan_of_clips(28000, 40, 2, test::random_hunyuan_video_encoder);
}

TEST_CASE("any plan of an AutoencoderKLHunyuanVideo15's encoder gives the values of its untiled encode") {
  check_any_plan_of_clips(27000, 40, 1, test::random_hunyuan_video_15_encoder);
}

TEST_CASE("any plan of LTX-Video's encoder gives the values of its untiled encode, within its peak") {
  check_any_plan_of_clips(30000, 40, 2, test::random_ltx_video_encoder);
}

TEST_CASE("any plan of an AutoencoderKLMiniMaxH3's encoder gives the values of its untiled encode") {
  check_any_plan_of_clips(32000, 40, 2, test::random_minimax_h3_encoder);
}

TEST_CASE("any plan of LTX-2's encoder gives the values of its untiled encode, within its peak") {
  check_any_plan_of_clips(26000, 40, 2, test::random_ltx2_encoder);
}

TEST_CASE("in 16 bits what a plan keeps changes no bit, and fp32 is near") {
  const test::Scratch scratch;
  for (uint64_t seed = 0; seed < 90; seed += test::kSeedStep) {
    const auto draw = [&](Random& random) -> test::DrawnModel {
      if (seed % 3 == 0) return test::random_config(random);
      if (seed % 3 == 1) return test::random_dc_config(random);
      return random.chance(0.7) ? test::random_autoencoder_tiny_config(random)
                                : test::random_hunyuan_image_config(random);
    };
    DrawnDecode decode = test::draw_decode(seed, {.least_side = 2, .in_16_bits = true}, draw);
    CAPTURE(seed, decode.drawn.text, decode.latent_extent.y, decode.latent_extent.x,
            name_of(decode.request.dtype));
    const test::TiledAndUntiled both = test::decode_both(decode, scratch);
    CHECK(both.tiled.picture.values == both.untiled.values);
    Request full = decode.request;
    full.dtype = Dtype::fp32;
    const Model& model = decode.drawn.model;
    const Array exact =
        test::decode_to_memory(model, untiled_plan(model, full), test::random_source(seed), decode.latent)
            .picture;
    const double error = test::relative_error(both.untiled, exact);
    CHECK(error <= (decode.request.dtype == Dtype::bf16 ? 0.2 : 0.05));
    CHECK(error > 0);
  }
}

TEST_CASE("in 16 bits what a clip's decode or encode keeps changes no bit") {
  const test::Scratch scratch;
  for (uint64_t seed = 7000; seed < 7024; seed += test::kSeedStep) {
    const auto draw = [&](Random& random) -> test::DrawnModel {
      if (seed % 3 == 0) return test::random_wan_22_encoder(random);
      return seed % 3 == 1 ? test::random_wan_config(random) : test::random_causal_config(random);
    };
    const DecodeStyle style{.most_frames = 4, .least_side = 2, .most_side = 5, .in_16_bits = true};
    DrawnDecode decode = test::draw_decode(seed, style, draw);
    CAPTURE(seed, decode.drawn.text);
    const test::TiledAndUntiled both = test::decode_both(decode, scratch);
    CHECK(both.tiled.picture.values == both.untiled.values);
  }
}

}  // namespace
}  // namespace headroom
