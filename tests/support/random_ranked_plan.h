#pragma once

#include <string>

#include "decoder/schedule/build_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom::test {

/// A random decode by several ranks. The limit of each rank is its predicted peak.
struct RankedDraw {
  Model model;
  std::string text;  ///< description for test messages
  Plans plan;
};

/// A small model of a random family, or a graph that occurs in no family.
inline DrawnModel draw_small_model(Random& random) {
  switch (random.integer(0, 10)) {
    case 0:
      return random_dc_config(random);
    case 1:
      return random_wan_config(random);
    case 2:
      return random_wan_22_config(random);
    case 3:
      return random_hunyuan_video_config(random);
    case 4:
      return random_ltx_video_config(random);
    case 5:
      return random_autoencoder_tiny_config(random);
    case 6:
      return random_model(random, {.attention = 0.2, .odd = 0.1, .cut_points = 0.2, .edges = 0.3});
    case 7:
      return random_causal_config(random);
    case 8:
      return random_hunyuan_video_15_config(random);
    default:
      return random_config(random);
  }
}

inline Plans draw_ranked_plan(const Model& model, const Request& request, int32_t ranks, RandomStyle style,
                              const MemoryModel& memory, Random& random, int64_t micro_batch = 1,
                              WeightResidency weights = {}) {
  style.carries = 0;  // plans for several ranks do not carry rows
  const PlanConfiguration configuration{.micro_batch = micro_batch, .weights = weights};
  const RandomPlan drawn = random_plan(model, request, micro_batch, style, memory, random, {}, configuration);
  Plans plan = build_plans(model, request, configuration, drawn.decisions, memory, ranks);
  for (Plan& own : plan.plans) own.limit_bytes = own.predicted_peak_bytes;
  return plan;
}

/// 1 to 5 ranks and 1 to 9 latent rows.
inline RankedDraw draw_ranks(uint64_t seed) {
  Random random(seed);
  const DrawnModel drawn = draw_small_model(random);
  const bool clip = drawn.model.graph.tensor(drawn.model.graph.output()).scale.t > 1;
  const Extent latent{clip ? random.integer(1, 3) : 1, random.integer(1, 9), random.integer(1, 9)};
  const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
  const auto ranks = static_cast<int32_t>(random.integer(1, 5));
  const bool cuda = random.chance(0.3);
  const Request request =
      request_for(drawn.model, latent, batch, random.pick<Dtype>({Dtype::fp32, Dtype::bf16}),
                  cuda ? DeviceKind::cuda : DeviceKind::cpu);
  RandomStyle style;
  style.keep = random.pick<double>({0, 0.2, 0.5, 0.8, 1});
  style.late = random.pick<double>({0, 0.3});
  if (cuda) style.form = ConvolutionAlgorithm::direct;
  MemoryModel memory;
  memory.block_bytes = random.pick<int64_t>({1, 300, 2000, int64_t{4} << 20});
  memory.reserve_bytes = random.integer(0, 1000);
  const WeightResidency weights = random.chance(0.5) ? WeightResidency::resident : WeightResidency::per_pass;
  Plans plan = draw_ranked_plan(drawn.model, request, ranks, style, memory, random, micro_batch, weights);
  const std::string text = drawn.text + " latent " + std::to_string(latent.t) + "x" +
                           std::to_string(latent.y) + "x" + std::to_string(latent.x) + ", " +
                           std::to_string(ranks) + " ranks";
  return {drawn.model, text, std::move(plan)};
}

}  // namespace headroom::test
