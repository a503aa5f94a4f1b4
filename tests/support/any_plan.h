#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::test {

/// Ranges from which random decodes are drawn.
struct DecodeStyle {
  int64_t most_frames = 5;  ///< latent frames of a clip
  int64_t least_side = 1;   ///< rows and columns of latents
  int64_t most_side = 9;
  int64_t most_batch = 3;
  bool in_16_bits = false;  ///< 16-bit dtypes; plans keep only tensors that are already rounded
  DeviceKind device = DeviceKind::cpu;
  int64_t more_columns = 0;  ///< beyond `most_side`
};

/// A request for a random model.
struct DrawnRequest {
  uint64_t seed;
  DrawnModel drawn;
  Extent latent_extent;
  Model model;  ///< half of the time specialized by for_frames()
  Request request;
  int64_t micro_batch;
  Array latent;
};

/// `draw` returns a DrawnModel, or a value that converts to one.
template <typename Draw>
DrawnRequest draw_request(uint64_t seed, Random& random, const DecodeStyle& style, const Draw& draw) {
  const DrawnModel drawn = draw(random);
  const auto side = [&] { return random.integer(style.least_side, style.most_side); };
  Extent extent{drawn.model.decodes_clips ? random.integer(1, style.most_frames) : 1, side(),
                side() + style.more_columns};
  while (!wrong_frames(drawn.model, extent_at(picture_scale(drawn.model.graph), extent).t).empty())
    --extent.t;
  const Dtype dtype = !style.in_16_bits ? Dtype::fp32 : random.pick<Dtype>({Dtype::bf16, Dtype::fp16});
  const int64_t batch = random.integer(1, style.most_batch), micro_batch = random.integer(1, batch);
  const Request request = request_for(drawn.model, extent, batch, dtype, style.device);
  const Model model = random.chance(0.5) ? for_frames(drawn.model, extent.t) : drawn.model;
  return {seed, drawn, extent, model, request, micro_batch, latent_for(drawn.model, request, seed)};
}

/// A random decode on the CPU.
struct DrawnDecode : DrawnRequest {
  int64_t block_bytes;
  Plan plan;

  MemoryModel memory() const {
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = block_bytes;
    return memory;
  }
};

template <typename Draw>
DrawnDecode draw_decode(uint64_t seed, const DecodeStyle& style, const Draw& draw) {
  Random random(seed);
  DrawnDecode decode{draw_request(seed, random, style, draw), 0, {}};
  const Model& model = decode.model;
  RandomStyle plans;
  plans.keep = random.pick<double>({0, 0.3, 0.6, 0.9, 1});
  plans.most_tiles = plans.keep < 0.5 ? 6 : 16;  // each tile recomputes tensors that are not kept
  if (style.in_16_bits) {
    plans.form = ConvolutionAlgorithm::direct;
    plans.untiled_rows = plans.untiled_columns = 1;
  } else {
    plans.below = random.pick<double>({0, 0, 0.5});
  }
  decode.block_bytes = random.pick<int64_t>({1, 700, 17'000, int64_t{4} << 20});
  const PlanConfiguration configuration{
      decode.micro_batch, random.chance(0.5) ? WeightResidency::per_pass : WeightResidency::resident,
      MemoryTier::scratch};
  const std::set<std::string> never = style.in_16_bits ? norms_of(model.graph) : std::set<std::string>{};
  decode.plan = random_plan(model, decode.request, decode.micro_batch, plans, decode.memory(), random, never,
                            configuration)
                    .plan;
  return decode;
}

/// Sets the plan's limit to its predicted peak, then decodes. Requires a valid plan, and checks that no pass
/// exceeds its predicted peak.
inline Decoded decode_tiled(DrawnDecode& decode, const Scratch& scratch) {
  Plan& plan = decode.plan;
  const bool in_file = limit_to_prediction(decode.model.graph, scratch, plan);
  const std::vector<Violation> violations = validate(plan, decode.model);
  const std::string violation = violations.empty() ? "" : violations[0].place + ": " + violations[0].what;
  CAPTURE(violation);
  REQUIRE(violations.empty());
  Decoded tiled = decode_to_memory(decode.model, plan, random_source(decode.seed), decode.latent);
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    CAPTURE(i, plan.passes[i].name);
    CHECK(tiled.stats.passes[i].peak_bytes + plan.reserve_bytes <= plan.passes[i].predicted_peak_bytes);
  }
  CHECK(tiled.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
  CHECK((tiled.stats.scratch_written_bytes > 0) == in_file);
  CHECK(scratch.files().empty());
  return tiled;
}

struct TiledAndUntiled {
  Decoded tiled;
  Array untiled;
};

inline TiledAndUntiled decode_both(DrawnDecode& decode, const Scratch& scratch) {
  Decoded tiled = decode_tiled(decode, scratch);
  const Model& whole = decode.drawn.model;
  const Plan untiled = untiled_plan(whole, decode.request);
  const ParameterSource source = random_source(decode.seed);
  return {std::move(tiled), decode_to_memory(whole, untiled, source, decode.latent).picture};
}

}  // namespace headroom::test
