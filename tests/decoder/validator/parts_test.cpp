#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/lowering/memory.h"
#include "tests/decoder/validator/validator_check.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using testing::DrawnPlan;
using testing::refused_as;

/// A plan that keeps tensors above a row, in blocks of a row.
DrawnPlan draw_parts(uint64_t seed) {
  test::Random random(seed);
  Model model = test::model_of(test::random_config(random));
  test::RandomStyle style;
  style.keep = 0.7;
  style.above = 0.7;
  style.in_place = 1;
  style.form =
      ConvolutionAlgorithm::direct;  // so that what is done to steps is not refused for their kernels
  MemoryModel memory;
  memory.block_bytes = 1;
  const Request request = test::request_for(model, {1, random.integer(4, 12), random.integer(2, 8)});
  Plan plan = test::random_plan(model, request, 1, style, memory, random).plan;
  plan.limit_bytes = plan.predicted_peak_bytes;
  return {std::move(model), std::move(plan)};
}

bool reads(const Pass& pass, TensorId tensor) {
  return std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return contains(step.inputs, Operand{tensor, -1});
  });
}

/// Whether a step of the pass can be left out without another one missing its tile.
bool is_last_step(const Pass& pass, StepKind kind) {
  return !pass.steps.empty() && pass.steps.back().kind == kind;
}

TEST_CASE("validator: both parts of a pass, and what is kept above a row", "[unit][validator]") {
  int parts = 0, kept = 0, statistics = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const auto [model, sound] = draw_parts(seed);
    REQUIRE(validate(sound, model).empty());
    for (size_t p = 0; p < sound.passes.size(); ++p) {
      if (sound.passes[p].part != PassPart::lower) continue;
      CAPTURE(p);
      ++parts;
      const auto damaged = [&](Violation::Kind kind, const auto& damage) {
        Plan plan = sound;
        damage(plan, plan.passes[p - 1], plan.passes[p]);
        CHECK(refused_as(plan, model, kind));
      };
      damaged(Violation::malformed, [](Plan&, Pass&, Pass& lower) { lower.part = PassPart::whole; });
      damaged(Violation::malformed, [](Plan&, Pass&, Pass& lower) { lower.part = PassPart::upper; });
      damaged(Violation::malformed, [](Plan&, Pass& upper, Pass&) { upper.part = PassPart::whole; });
      damaged(Violation::malformed, [](Plan&, Pass&, Pass& lower) { lower.part = static_cast<PassPart>(7); });
      if (sound.passes[p].tiles.y.front().length() > 1)
        damaged(Violation::skipped_region, [](Plan&, Pass&, Pass& lower) { ++lower.tiles.y.front().begin; });
      if (sound.passes[p].tiles.y.size() > 1)
        damaged(Violation::skipped_region, [](Plan&, Pass&, Pass& lower) { lower.tiles.y.pop_back(); });
      damaged(Violation::malformed, [](Plan&, Pass&, Pass& lower) { --lower.tiles.y.front().begin; });
      // The lower part may not read what is kept above: it is not there, or gone already.
      const auto above = std::find_if(sound.kept.begin(), sound.kept.end(), [&](const KeptTensor& entry) {
        return entry.rows && reads(sound.passes[p - 1], entry.tensor);
      });
      REQUIRE(above != sound.kept.end());
      const bool gone = above->last_pass < static_cast<int32_t>(p);
      damaged(gone ? Violation::read_after_release : Violation::missing_halo,
              [](Plan&, Pass& upper, Pass& lower) { lower.steps = upper.steps; });
      damaged(Violation::malformed, [](Plan& plan, Pass&, Pass&) {
        for (KeptTensor& entry : plan.kept) {
          if (!entry.rows) entry.tier = MemoryTier::host;
          if (!entry.rows) break;
        }
      });
      for (StepKind kind : {StepKind::statistics, StepKind::store}) {
        if (!is_last_step(sound.passes[p], kind)) continue;
        ++statistics;
        damaged(Violation::skipped_region, [](Plan&, Pass&, Pass& lower) { lower.steps.pop_back(); });
        // `first_pass` is the upper part, which writes it no more.
        if (is_last_step(sound.passes[p - 1], kind))
          damaged(kind == StepKind::store ? Violation::malformed : Violation::skipped_region,
                  [](Plan&, Pass& upper, Pass&) { upper.steps.pop_back(); });
      }
    }
    for (size_t i = 0; i < sound.kept.size(); ++i) {
      if (!sound.kept[i].rows) continue;
      ++kept;
      const auto damaged = [&](Violation::Kind kind, const auto& damage) {
        Plan plan = sound;
        damage(plan.kept[i]);
        CHECK(refused_as(plan, model, kind));
      };
      damaged(Violation::malformed, [](KeptTensor& entry) { ++entry.rows->begin; });
      damaged(Violation::malformed, [](KeptTensor& entry) { entry.rows->end = 0; });
      damaged(Violation::malformed, [](KeptTensor& entry) { entry.rows->end = 1 << 20; });
      damaged(Violation::malformed, [](KeptTensor& entry) { ++entry.last_pass, entry.first_pass = 1 << 20; });
      // With a block less it has fewer rows than are read of it.
      if (sound.kept[i].rows->length() <= 4 * sound.kept[i].block_rows) continue;
      damaged(Violation::missing_halo, [](KeptTensor& entry) { entry.rows->end = entry.block_rows; });
    }
  }
  CHECK(parts > 20);
  CHECK(kept > 20);
  CHECK(statistics > 5);
}

}  // namespace
}  // namespace headroom
