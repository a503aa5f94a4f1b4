#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/schedule/lowering.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/tiles.h"
#include "tests/decoder/validator/validator_check.h"
#include "tests/support/causal_attention.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using testing::refused_as;

/// A plan whose last pass goes through its clip frame by frame.
Plan chunked_plan(const Model& model, int64_t frames = 4) {
  const Request request = test::request_for(model, {frames, 5, 6});
  std::vector<PassDecision> decisions;
  for (const BarrierTargets& targets : barrier_targets(model.graph)) {
    if (targets.optional()) continue;
    decisions.emplace_back();
    decisions.back().tile = {targets.emits ? 1 : frames, 8, 64};
  }
  Plan plan = build_plan(model, request, {}, decisions, {});
  plan.limit_bytes = plan.predicted_peak_bytes;
  return plan;
}

/// The steps of the last pass that carry frames.
std::vector<size_t> carrying(const Plan& plan) {
  std::vector<size_t> steps;
  for (size_t s = 0; s < plan.passes.back().steps.size(); ++s) {
    if (carried_positions(plan.passes.back(), plan.passes.back().steps[s]) > 0) steps.push_back(s);
  }
  return steps;
}

TEST_CASE("validator: chunks of frames carry what later ones need", "[unit][validator]") {
  const Model model = test::model_of(test::tiny_wan_config());
  const Plan sound = chunked_plan(model);
  REQUIRE(sound.passes.back().tiles.t.size() == 4);
  CHECK(validate(sound, model).empty());
  REQUIRE(carrying(sound).size() >= 3);

  for (size_t step : carrying(sound)) {
    Plan plan = sound;
    --plan.passes.back().steps[step].halo.before.t;
    CAPTURE(step);
    CHECK(refused_as(plan, model, Violation::missing_halo));
    plan = sound;
    // A convolution that runs ahead also starts later, so earlier frames are missing.
    plan.passes.back().steps[step].halo.after.t = 1;
    CHECK(refused_as(plan, model, Violation::missing_halo));
    plan = sound;
    plan.passes.back().steps[step].pad.t = 1;
    CHECK(refused_as(plan, model, Violation::malformed));
  }
  Plan plan = sound;
  plan.passes.back().tiles.t.pop_back();
  CHECK(refused_as(plan, model, Violation::skipped_region));
  plan = sound;
  plan.passes.back().tiles.t[1].end = 3;
  CHECK(refused_as(plan, model, Violation::computed_twice));
}

TEST_CASE("validator: what kernels read of later frames is made ahead, and kept", "[unit][validator]") {
  const Model model = test::model_of(test::tiny_ltx2_video_config());
  // Nothing runs ahead to the end of so long a clip at once.
  const Plan sound = chunked_plan(model, 12);
  REQUIRE(sound.passes.size() == 1);
  REQUIRE(sound.passes[0].tiles.t.size() == 12);
  CHECK(validate(sound, model).empty());
  int ahead = 0, kept = 0;
  for (size_t s = 0; s < sound.passes[0].steps.size(); ++s) {
    CAPTURE(s);
    Plan plan = sound;
    Halo& halo = plan.passes[0].steps[s].halo;
    if (halo.after.t > 0) {
      --halo.after.t;
      CHECK(refused_as(plan, model, Violation::missing_halo));
      ++halo.after.t;
      ++ahead;
    }
    if (halo.before.t > 0) {
      --halo.before.t;
      CHECK(refused_as(plan, model, Violation::missing_halo));
      ++kept;
    }
  }
  CHECK(ahead > 10);
  CHECK(kept > 5);
}

TEST_CASE("validator: chunks of a grid with more frames than a tensor overlap in it", "[unit][validator]") {
  const Model model = test::model_of(test::tiny_wan_config());
  Plan plan = chunked_plan(model);
  Pass& pass = plan.passes.back();
  REQUIRE(pass.scale.t == 1);
  pass.scale.t = 2;
  pass.tiles.t = cut(7, 1);
  pass.predicted_peak_bytes = plan.predicted_peak_bytes = plan.limit_bytes = int64_t{1} << 40;
  CHECK(refused_as(plan, model, Violation::computed_twice));
}

TEST_CASE("validator: what chunks carry counts", "[unit][validator]") {
  const Model model = test::model_of(test::tiny_wan_config());
  Plan plan = chunked_plan(model);
  // All of the prediction that is no reserve is weights, latent, blocks, tiles and what they carry; this
  // model has no workspace.
  const int64_t carried = [&] {
    int64_t bytes = 0;
    const Pass& pass = plan.passes.back();
    const Sizes sizes = sizes_of(model.graph, plan);
    for (size_t step : carrying(plan)) {
      Extent extent = largest_tile(model.graph, pass, pass.steps[step], Extent{1, 8, 64}, sizes);
      extent.t = carried_positions(pass, pass.steps[step]);
      bytes += positions(extent) * model.graph.tensor(pass.steps[step].tensor).channels * 4;
    }
    return bytes;
  }();
  REQUIRE(carried > 0);
  plan.passes.back().predicted_peak_bytes -= carried / 2 + 64 * 1024;
  CHECK(refused_as(plan, model, Violation::peak_understated));
}

TEST_CASE("validator: attention needs the keys and values of all frames, whole and before it",
          "[unit][validator]") {
  const Model model = test::causal_attention_model(8, false);
  const Request request = test::request_for(model, {4, 5, 6});
  const Plan untiled = untiled_plan(model, request);
  REQUIRE(untiled.passes.size() == 2);
  CHECK(validate(untiled, model).empty());
  // Queries may come frame by frame, and keys may be made so.
  Plan sound = untiled;
  for (Pass& pass : sound.passes) {
    CHECK(takes_chunks(model.graph, pass));
    pass.tiles.t = cut(4, 1);
    pass.predicted_peak_bytes = sound.predicted_peak_bytes = int64_t{1} << 40;
  }
  CHECK(validate(sound, model).empty());
  Plan plan = sound;
  plan.passes[0].tiles.t.pop_back();
  CHECK(refused_as(plan, model, Violation::skipped_region));
  plan = sound;
  plan.passes[0].tiles.t.erase(plan.passes[0].tiles.t.begin());
  CHECK(refused_as(plan, model, Violation::skipped_region));
  // Keys of a tile of the same pass: those of earlier frames are not in it.
  plan = sound;
  std::vector<Step>& steps = plan.passes[1].steps;
  const auto attention = std::find_if(steps.begin(), steps.end(),
                                      [](const Step& step) { return step.kind == OpKind::attention; });
  REQUIRE(attention != steps.end());
  attention->inputs[1].step = attention->inputs[0].step;
  CHECK(refused_as(plan, model, Violation::malformed));
  // Below the device they come with their values or not at all.
  plan = sound;
  const TensorId keys = attention->inputs[1].tensor;
  for (KeptTensor& entry : plan.kept) {
    if (entry.tensor == keys) entry.tier = MemoryTier::host;
  }
  CHECK(refused_as(plan, model, Violation::misplaced));
}

TEST_CASE("validator: frames ahead and interleaved frames need all frames at once", "[unit][validator]") {
  nlohmann::json config = test::tiny_causal_config();
  config["decoder_attention"] = "AttnBlock3D";
  const Model model = test::model_of(config);
  const Plan untiled = untiled_plan(model, test::request_for(model, {3, 5, 6}));
  CHECK(validate(untiled, model).empty());
  int whole = 0;
  for (size_t p = 0; p < untiled.passes.size(); ++p) {
    if (takes_chunks(model.graph, untiled.passes[p])) continue;
    ++whole;
    Plan plan = untiled;
    const int64_t frames = plan.passes[p].tiles.t.back().end;
    plan.passes[p].tiles.t = cut(frames, 1);
    CAPTURE(p);
    // A step that reads a whole kept tensor finds all frames there; one that reads a tile does not.
    const bool reads_tile =
        std::any_of(plan.passes[p].steps.begin(), plan.passes[p].steps.end(), [&](const Step& step) {
          return step.op != OpId{-1} && needs_all_frames(model.graph.op(step.op)) && step.inputs[0].step >= 0;
        });
    CHECK(refused_as(plan, model, Violation::missing_halo) == reads_tile);
  }
  CHECK(whole > 0);
}

}  // namespace
}  // namespace headroom
