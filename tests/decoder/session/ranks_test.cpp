#include <catch2/catch.hpp>

#include "decoder/lowering/ranked_plan.h"
#include "planner/cost/cost_model.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding_by_ranks.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::norms_of;
using test::Random;
using test::request_for;

/// Draws plans of a family for several ranks and holds their decodes to the untiled one, their peaks to the
/// predicted ones and what they send to what was predicted.
template <typename Draw>
void check_drawn_ranks(uint64_t seeds, int64_t most_frames, const Draw& draw) {
  int64_t moved = 0, uneven = 0, idle = 0;
  for (uint64_t seed = 0; seed < seeds; seed += test::kSeedStep) {
    Random random(seed);
    const test::DrawnModel drawn = draw(random);
    const Model& clips = drawn.model;
    const int64_t frames = random.integer(1, most_frames);
    // A group of one value or two has hardly a deviation: what rounding leaves of it counts a thousandfold.
    const Extent latent{clips.decodes_clips ? frames : 1, random.integer(2, 9), random.integer(2, 6)};
    const Model model = for_frames(clips, latent.t);
    const int64_t batch = random.integer(1, 2), micro_batch = random.integer(1, batch);
    const auto ranks = static_cast<int32_t>(random.integer(1, 5));
    CAPTURE(seed, drawn.text, latent.t, latent.y, latent.x, batch, micro_batch, ranks);
    const Request request = request_for(model, latent, batch);
    test::RandomStyle style;
    style.carries = 0;  // ranks carry no rows
    style.keep = random.pick<double>({0, 0.5, 0.8, 1});
    style.most_tiles = 8;
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    PlanConfiguration configuration{
        micro_batch, random.chance(0.3) ? WeightResidency::per_pass : WeightResidency::resident};
    const test::RandomPlan alone = test::random_plan(model, request, micro_batch, style, memory, random,
                                                     norms_of(model.graph), configuration);
    RankedPlan plan = build_ranked_plan(model, request, configuration, alone.decisions, memory, ranks);
    for (Plan& of_rank : plan.plans) of_rank.limit_bytes = of_rank.predicted_peak_bytes;
    const Array input = test::latent_for(model, request, seed);
    const test::DecodedByRanks decoded =
        test::decode_by_ranks(model, plan, test::random_source(seed), input, seed);
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(decoded.picture, untiled) <= test::kExact);
    for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
      CAPTURE(rank);
      CHECK(decoded.stats[rank].pool_peak_bytes <= plan.plans[rank].predicted_peak_bytes);
      CHECK(decoded.sent_bytes[rank] == plan.traffic[rank].rows_bytes + plan.traffic[rank].statistics_bytes);
    }
    moved += plan.transfers.empty() ? 0 : 1;
    uneven += latent.y % ranks != 0 ? 1 : 0;
    idle += latent.y < ranks ? 1 : 0;
  }
  if (test::kSanitized) return;  // a few of them need not have all there is
  CHECK(moved > 0);
  CHECK(uneven > 0);
  CHECK(idle > 0);
}

TEST_CASE("several ranks give the pixels of the untiled decode: AutoencoderKL") {
  check_drawn_ranks(24, 1, [](Random& random) { return test::random_config(random); });
}

TEST_CASE("several ranks: AutoencoderTiny and HunyuanImage") {
  check_drawn_ranks(16, 1, [](Random& random) {
    return random.chance(0.6) ? test::random_autoencoder_tiny_config(random)
                              : test::random_hunyuan_image_config(random);
  });
}

TEST_CASE("several ranks: clips") {
  check_drawn_ranks(16, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_wan_config(random) : test::random_causal_config(random);
  });
}

TEST_CASE("several ranks: Wan 2.2's network") {
  check_drawn_ranks(12, 3, test::random_wan_22_config);
}

TEST_CASE("several ranks: attention of each frame with all before it") {
  check_drawn_ranks(12, 4, test::random_causal_attention_model);
}

TEST_CASE("several ranks: HunyuanVideo's decoders") {
  check_drawn_ranks(12, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_hunyuan_video_config(random)
                              : test::random_hunyuan_video_15_config(random);
  });
}

TEST_CASE("several ranks: LTX's decoders") {
  check_drawn_ranks(12, 3, test::random_ltx_video_config);
}

TEST_CASE("several ranks: AutoencoderDC") {
  check_drawn_ranks(24, 1, [](Random& random) { return test::random_dc_config(random); });
}

}  // namespace
}  // namespace headroom
