#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/tiles.h"
#include "tests/decoder/validator/validator_check.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using testing::DrawnPlan;
using testing::refused_as;

/// Nothing is kept but what must be, so that passes have long chains of steps, and all carry rows that can.
DrawnPlan draw_carried_rows(uint64_t seed) {
  test::Random random(seed);
  Model model = test::model_of(test::random_config(random));
  const Request request = test::request_for(model, {1, random.integer(12, 20), random.integer(3, 9)});
  std::vector<PassDecision> decisions(barrier_targets(model.graph).size());
  for (PassDecision& decision : decisions)
    decision.tile = {1, random.integer(3, 16), random.pick<int64_t>({4, 100})};
  Plan plan = build_plan(model, request, {}, decisions, {});
  for (size_t i = 0; i < decisions.size(); ++i)
    decisions[i].carries_rows = can_carry_rows(model.graph, plan.passes[i]);
  plan = build_plan(model, request, {}, decisions, {});
  plan.limit_bytes = plan.predicted_peak_bytes;
  return {std::move(model), std::move(plan)};
}

TEST_CASE("validator: what tiles have from the tile above them", "[unit][validator]") {
  int passes = 0, ahead = 0, kept = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const auto [model, sound] = draw_carried_rows(seed);
    REQUIRE(validate(sound, model).empty());
    for (size_t p = 0; p < sound.passes.size(); ++p) {
      if (!sound.passes[p].carries_rows || sound.passes[p].tiles.y.size() < 2) continue;
      CAPTURE(p);
      ++passes;
      // Over upsampling halos are those of the worst place, and bands may have better ones.
      const bool upsamples = std::any_of(
          sound.passes[p].steps.begin(), sound.passes[p].steps.end(),
          [&](const Step& step) { return step.op != OpId{-1} && model.graph.op(step.op).factor.y > 1; });
      for (size_t s = 0; s < sound.passes[p].steps.size() && !upsamples; ++s) {
        const Step& step = sound.passes[p].steps[s];
        CAPTURE(s);
        Plan plan = sound;
        if (carried_positions(sound.passes[p], step) > 0) {
          --plan.passes[p].steps[s].halo.before.y;
          CHECK(refused_as(plan, model, Violation::missing_halo));
          ++kept;
        }
        plan = sound;
        if (makes_tile(step) && step.halo.after.y > 0) {
          --plan.passes[p].steps[s].halo.after.y;
          CHECK(refused_as(plan, model, Violation::missing_halo));
          ++ahead;
        }
      }
      const auto damaged = [&](const auto& damage) {
        Plan plan = sound;
        damage(plan, plan.passes[p]);
        return plan;
      };
      CHECK(refused_as(damaged([](Plan& plan, Pass&) {
                         plan.share = {0, 2, {0, 20}};
                       }),
                       model, Violation::malformed));
      CHECK(refused_as(damaged([](Plan&, Pass& pass) { pass.steps[0].edges = Edges::reflect; }), model,
                       Violation::malformed));
    }
  }
  CHECK(passes > 30);
  CHECK(ahead > 50);
  CHECK(kept > 50);
}

TEST_CASE("validator: what bands carry counts", "[unit][validator]") {
  int passes = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const auto [model, sound] = draw_carried_rows(seed);
    const Sizes sizes = sizes_of(model.graph, sound);
    for (size_t p = 0; p < sound.passes.size(); ++p) {
      const Pass& pass = sound.passes[p];
      int64_t carried = 0;
      for (const Step& step : pass.steps)
        carried += carried_bytes(model.graph, pass, step, cut_tile(model.graph, pass), sizes);
      if (carried == 0 || pass.tiles.y.size() < 2) continue;
      CAPTURE(p);
      ++passes;
      Plan plan = sound;
      // A pool's allocations are rounded up, which the validator does not count.
      int64_t& bytes = plan.passes[p].predicted_peak_bytes;
      bytes = std::max<int64_t>(0, bytes - carried / 2 - 64 * 1024);
      CHECK(refused_as(plan, model, Violation::peak_understated));
    }
  }
  CHECK(passes > 30);
}

TEST_CASE("validator: attention carries no rows, nor does a clip", "[unit][validator]") {
  nlohmann::json config = test::tiny_config();
  config["mid_block_add_attention"] = true;
  const Model model = test::model_of(config);
  Plan plan = untiled_plan(model, test::request_for(model, {1, 6, 5}));
  const auto attends = std::find_if(plan.passes.begin(), plan.passes.end(), [](const Pass& pass) {
    return std::any_of(pass.steps.begin(), pass.steps.end(),
                       [](const Step& step) { return step.kind == OpKind::attention; });
  });
  REQUIRE(attends != plan.passes.end());
  attends->carries_rows = true;
  CHECK(refused_as(plan, model, Violation::malformed));
}

}  // namespace
}  // namespace headroom
