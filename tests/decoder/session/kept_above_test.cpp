#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/plan/plan_file.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;

/// What there was among the plans that were drawn.
struct Seen {
  int parts = 0, in_place = 0, attention = 0, one_row = 0, columns = 0, several_blocks = 0,
      in_micro_batches = 0, drained_by_both = 0, read_twice = 0, restored = 0;

  void count(const Plan& plan) {
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const Pass& pass = plan.passes[i];
      if (pass.part != PassPart::lower) continue;
      const auto number = static_cast<int32_t>(i);
      ++parts;
      one_row += pass.tiles.y.size() > 1 && pass.tiles.y.front().length() == 1 ? 1 : 0;
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
      in_micro_batches += plan.micro_batch < plan.request.batch ? 1 : 0;
      for (const Step& step : pass.steps) attention += step.kind == StepKind::attention ? 1 : 0;
      for (const KeptTensor& entry : plan.kept) {
        const bool written = entry.first_pass == number - 1;
        in_place += written && entry.in_place_of != TensorId{-1} ? 1 : 0;
        restored += written && entry.rows ? 1 : 0;
        drained_by_both += entry.last_pass == number ? 1 : 0;
      }
    }
    for (const KeptTensor& entry : plan.kept) {
      if (!entry.rows) continue;
      several_blocks += entry.rows->length() > entry.block_rows ? 1 : 0;
      read_twice += entry.last_pass > entry.first_pass + 3 ? 1 : 0;
    }
  }
};

TEST_CASE("plans that keep tensors above a row give what the untiled decode gives, within their peak") {
  Seen seen;
  const test::Scratch scratch;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed + 7000);
    const nlohmann::json config = test::random_config(random);
    const Extent latent{1, random.integer(2, 11), random.integer(1, 7)};
    const int64_t batch = random.integer(1, 2), micro_batch = random.integer(1, batch);
    CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch);
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, batch);
    test::RandomStyle style;
    style.keep = random.pick<double>({0.5, 0.7, 0.9});
    style.above = random.pick<double>({0.4, 0.8});
    style.in_place = 1;
    style.most_tiles = 16;
    const PlanConfiguration configuration{
        micro_batch, random.chance(0.5) ? WeightResidency::per_pass : WeightResidency::resident};
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, 17'000});
    Plan plan = test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan;
    plan.limit_bytes = plan.predicted_peak_bytes;
    REQUIRE(validate(plan, model).empty());
    write_plan(scratch / "plan.json", plan, model.graph);
    REQUIRE(read_plan(scratch / "plan.json", model.graph) == plan);
    seen.count(plan);
    const Array input = test::latent_for(model, request, seed);
    const test::Decoded tiled = test::decode_to_memory(model, plan, test::random_source(seed), input);
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(tiled.picture, untiled) <= test::kExact);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      CAPTURE(i, plan.passes[i].name, name_of(plan.passes[i].part));
      CHECK(tiled.stats.passes[i].peak_bytes + plan.reserve_bytes <= plan.passes[i].predicted_peak_bytes);
    }
    const Plan halved = test::unlimited(with_halved_tiles(model, plan, memory));
    CHECK(halved.passes.size() == plan.passes.size());
    CHECK(validate(halved, model).empty());
  }
  CHECK(seen.parts > 60);
  CHECK(seen.in_place > 5);
  CHECK(seen.attention > 3);
  CHECK(seen.one_row > 3);
  CHECK(seen.columns > 10);
  CHECK(seen.several_blocks > 20);
  CHECK(seen.in_micro_batches > 5);
  CHECK(seen.drained_by_both > 20);
  CHECK(seen.read_twice > 5);
  CHECK(seen.restored > 10);
}

}  // namespace
}  // namespace headroom
