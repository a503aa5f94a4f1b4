#include "planner/explain/explain.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/schedule/storage.h"
#include "decoder/validator/validator.h"
#include "planner/explain/schedule.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/expected.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

Model small_model() {
  Model model;
  model.graph = testing::small_graph();
  return model;
}

TEST_CASE("window: the blocks that a sweep has just written, or reads and fetches ahead") {
  const Model model = small_model();
  // Blocks have one row of two items, 512 bytes. Pass 0 writes bands of three rows, and pass 1 reads rows [0,
  // 4), [2, 7) and [5, 8). Two bands are resident at a time.
  const Plan plan = testing::small_plan_below(model.graph, 1);
  CHECK(window_bytes(model.graph, plan, plan.kept[0], 0) == 6 * 512);
  CHECK(window_bytes(model.graph, plan, plan.kept[0], 1) == 7 * 512);
  CHECK(window_bytes(model.graph, plan, plan.kept[0]) == 7 * 512);
  CHECK(kept_bytes(model.graph, plan, plan.kept[0]) == 8 * 512);
  CHECK(window_bytes(model.graph, plan, plan.kept[1]) == kept_bytes(model.graph, plan, plan.kept[1]));
}

TEST_CASE("explain tells tiers, windows, weights and what is proven") {
  const Model model = small_model();
  Plan plan = testing::small_plan(model.graph);
  CHECK_THAT(schedule(plan, model), Catch::Contains("throughout the decode: weights ") &&
                                        Catch::Contains("not proven optimal") && !Catch::Contains("scratch"));

  plan = testing::small_plan_below(model.graph, 1);
  plan.weights = WeightResidency::per_pass;
  plan.bound_seconds = plan.predicted_seconds / 1.032;
  plan.environment = {"two cores", "LibTorch"};
  plan.assumed = false;
  const std::string text = schedule(plan, model);
  CHECK_THAT(text, Catch::Contains("at most 3.2 % above the best") && Catch::Contains("by the profile"));
  Plan nearly = plan;
  nearly.bound_seconds = nearly.predicted_seconds / 1.0004;
  CHECK(gap_text(nearly) == "fastest to within 0.1 %");
  CHECK_THAT(text, Catch::Contains("scratch file 4.0 KiB of 4.0 KiB in /scratch"));
  CHECK_THAT(text, Catch::Contains("weights come pass by pass, at most 11.6 KiB at a time"));
  CHECK_THAT(text, Catch::Contains("costs of two cores; LibTorch"));
  CHECK_THAT(text, !Catch::Contains("pinned"));
  Plan pinned = plan;
  pinned.host_weights_bytes = 2048;
  CHECK_THAT(schedule(pinned, model), Catch::Contains("weights in pinned host memory 2.0 KiB"));
  CHECK(explain_json(pinned, model)["host_weights_bytes"] == 2048);

  test::check_expected("explain.json", explain_json(plan, model).dump(1) + "\n");

  plan.passes[1].convolutions = ConvolutionAlgorithm::winograd;
  CHECK_THAT(schedule(plan, model), Catch::Contains(", kernels in Winograd form)\n"));
  plan.passes[1].convolutions.direct = operations_of(plan.passes[1]);
  const std::string name = model.graph.op(plan.passes[1].convolutions.direct.front()).name;
  CHECK_THAT(schedule(plan, model), Catch::Contains(", kernels in Winograd form but for " + name));
  CHECK(explain_json(plan, model)["passes"][1]["direct_convolutions"][0] == name);

  plan.passes[1].carries_rows = true;
  CHECK_THAT(tiles_text(plan.passes[1]), Catch::EndsWith(", rows carried"));
  CHECK_THAT(short_tiles_text(plan.passes[1]), Catch::EndsWith(", rows carried"));
  CHECK(explain_json(plan, model)["passes"][1]["carries_rows"] == true);
  plan.optimal = true;
  plan.bound_seconds = plan.predicted_seconds;
  CHECK(gap_text(plan) == "optimal");
  plan.optimal = false;
  plan.bound_seconds = 0;
  CHECK(gap_text(plan) == "not proven optimal");
  CHECK(explain_json(plan, model)["gap"].is_null());
}

TEST_CASE("a window is never larger than what the peak of its pass has room for") {
  size_t windows = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::model_of(test::random_config(random));
    const Extent latent{1, random.integer(4, 19), random.integer(4, 19)};
    test::RandomStyle style;
    style.below = 0.7;
    style.untiled_rows = 0.1;
    MemoryModel memory;
    memory.block_bytes = 1000;
    const Plan plan =
        test::random_plan(model, test::request_for(model, latent), 1, style, memory, random).plan;
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier == MemoryTier::device) continue;
      for (int32_t p = entry.first_pass; p <= entry.last_pass; ++p) {
        const int64_t window = window_bytes(model.graph, plan, entry, static_cast<size_t>(p));
        CHECK(window <= plan.passes[static_cast<size_t>(p)].predicted_peak_bytes);
        windows += window > 0;
      }
    }
  }
  CHECK(windows > 100);
}

}  // namespace
}  // namespace headroom::planner
