#include <catch2/catch.hpp>

#include "tests/support/any_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding_by_ranks.h"
#include "tests/support/random_ranked_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using test::Random;

/// Tolerance for different orders of summation: ranks differ from the untiled decode in Winograd tiles and in
/// statistics. The compiler matters too: with Clang, one decode exceeded kExact by 1 %.
constexpr double kOtherOrder = 2.5 * test::kExact;

/// Decodes by random plans for several ranks. Compares pixels with the untiled decode, and peaks and sent
/// bytes with the predictions.
template <typename Draw>
void check_drawn_ranks(uint64_t seeds, int64_t most_frames, const Draw& draw) {
  int64_t moved = 0, uneven = 0, idle = 0;
  for (uint64_t seed = 0; seed < seeds; seed += test::kSeedStep) {
    Random random(seed);
    // A group of one or two values has almost no deviation, which amplifies rounding errors a thousandfold.
    const test::DrawnRequest drawn = test::draw_request(seed, random, {most_frames, 2, 9, 2}, draw);
    const Extent& latent = drawn.latent_extent;
    const auto ranks = static_cast<int32_t>(random.integer(1, 5));
    CAPTURE(seed, drawn.drawn.text, latent.t, latent.y, latent.x, drawn.request.batch, drawn.micro_batch,
            ranks);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.5, 0.8, 1});
    style.most_tiles = 8;
    MemoryModel memory = planner::CostModel(drawn.model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    const Plans plan =
        test::draw_ranked_plan(drawn.model, drawn.request, ranks, style, memory, random, drawn.micro_batch,
                               random.chance(0.3) ? WeightResidency::per_pass : WeightResidency::resident);
    const test::DecodedByRanks decoded =
        test::decode_by_ranks(drawn.model, plan, test::random_source(seed), drawn.latent, seed);
    const Model& whole = drawn.drawn.model;
    const Array untiled = test::decode_to_memory(whole, untiled_plan(whole, drawn.request),
                                                 test::random_source(seed), drawn.latent)
                              .picture;
    CHECK(test::relative_error(decoded.picture, untiled) <= kOtherOrder);
    for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
      CAPTURE(rank);
      CHECK(decoded.stats[rank].pool_peak_bytes <= plan.plans[rank].predicted_peak_bytes);
      CHECK(decoded.sent_bytes[rank] == plan.sent[rank].rows_bytes + plan.sent[rank].statistics_bytes);
    }
    moved += plan.transfers.empty() ? 0 : 1;
    uneven += latent.y % ranks != 0 ? 1 : 0;
    idle += latent.y < ranks ? 1 : 0;
  }
  if (test::kSanitized) return;  // a subset of plans may lack some features
  CHECK(moved > 0);
  CHECK(uneven > 0);
  CHECK(idle > 0);
}

TEST_CASE("several ranks give the pixels of the untiled decode: AutoencoderKL") {
  check_drawn_ranks(24, 1, test::random_config);
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

TEST_CASE("several ranks: TAEHV") {
  check_drawn_ranks(8, 1, test::random_taehv_config);
}

TEST_CASE("several ranks: SeedVR2's decoder") {
  check_drawn_ranks(12, 3, test::random_seedvr2_config);
}

TEST_CASE("several ranks: a decoder of two branches, with zeros at both ends of the time") {
  check_drawn_ranks(12, 3, test::random_temporal_decoder_config);
}

TEST_CASE("several ranks: statistics over runs of frames") {
  check_drawn_ranks(12, 5, test::random_cogvideox_config);
}

TEST_CASE("several ranks: HunyuanImage's refiner") {
  check_drawn_ranks(12, 3, test::random_hunyuan_image_refiner_config);
}

TEST_CASE("several ranks: LTX's decoders") {
  check_drawn_ranks(12, 3, test::random_ltx_video_config);
}

TEST_CASE("several ranks: AutoencoderDC") {
  check_drawn_ranks(24, 1, test::random_dc_config);
}

}  // namespace
}  // namespace headroom
