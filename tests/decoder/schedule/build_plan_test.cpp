#include "decoder/schedule/build_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "decoder/plan/plan_file.h"
#include "tests/decoder/validator/validator_check.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;

/// Largest number of block bytes in a tier during one pass.
int64_t bytes_in(const Plan& plan, const Graph& graph, MemoryTier tier) {
  const Sizes sizes = sizes_of(graph, plan);
  int64_t most = 0;
  for (int32_t pass = 0; pass < static_cast<int32_t>(plan.passes.size()); ++pass) {
    int64_t live = 0;
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier != tier || pass < entry.first_pass || pass > entry.last_pass) continue;
      live += sizes.items * block_count(graph, entry, sizes) * entry.block_rows *
              row_bytes(graph, entry.tensor, sizes);
    }
    most = std::max(most, live);
  }
  return most;
}

/// Sets limits to exactly the plan's needs.
Plan with_limits(Plan plan, const Graph& graph) {
  plan.limit_bytes = plan.predicted_peak_bytes;
  plan.host_limit_bytes = bytes_in(plan, graph, MemoryTier::host);
  plan.scratch_limit_bytes = bytes_in(plan, graph, MemoryTier::scratch);
  if (plan.scratch_limit_bytes > 0) plan.scratch_folder = "/scratch";
  return plan;
}

void require_no_violations(Plan plan, const Model& model) {
  plan = with_limits(plan, model.graph);
  // Validates against the extent directly, because picture models reject clips as requests.
  const std::vector<Violation> found = validate(plan, model.graph, sizes_of(model.graph, plan).latent);
  INFO(testing::to_text(found));
  REQUIRE(found.empty());
  // Writing and reading a plan preserves it.
  const nlohmann::json document = to_json(plan, model.graph);
  CHECK(plan_from_json(JsonFields(document, "plan.json"), model.graph) == plan);
}

TEST_CASE("every plan from random decisions is valid, and with halved tiles") {
  int64_t below = 0, several = 0;
  for (uint64_t seed = 0; seed < 400; seed += test::kSeedStep) {
    Random random(seed);
    const nlohmann::json config = test::random_config(random);
    const Model model = test::model_of(config);
    const Extent latent{random.pick<int64_t>({1, 1, 3}), random.integer(1, 19), random.integer(1, 19)};
    const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
    CAPTURE(seed, config.dump(), latent.t, latent.y, latent.x, batch, micro_batch);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.2, 0.5, 0.8, 1});
    style.late = random.pick<double>({0, 0.3});
    style.in_place = random.pick<double>({0, 0.5, 1});
    style.below = random.pick<double>({0, 0, 0.3, 0.6, 1});
    MemoryModel memory;
    memory.block_bytes = random.pick<int64_t>({1, 300, 2000, 20'000, int64_t{4} << 20});
    memory.reserve_bytes = random.integer(0, 1000);
    const PlanConfiguration configuration{
        .micro_batch = micro_batch,
        .weights = random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass}),
        .lower_tier = random.pick<MemoryTier>({MemoryTier::host, MemoryTier::scratch})};
    const Request request = request_for(model, latent, batch, random.pick<Dtype>({Dtype::fp32, Dtype::bf16}));
    const Plan plan =
        test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan;
    require_no_violations(plan, model);
    for (const KeptTensor& entry : plan.kept) {
      below += entry.tier != MemoryTier::device;
      several += entry.tier != MemoryTier::device && entry.last_pass > entry.first_pass + 1;
    }

    const Plan halved = with_halved_tiles(model, plan, memory);
    REQUIRE(halved.passes.size() == plan.passes.size());
    REQUIRE(halved.kept.size() == plan.kept.size());
    for (size_t i = 0; i < plan.kept.size(); ++i) {
      CHECK(halved.kept[i].tensor == plan.kept[i].tensor);
      CHECK(halved.kept[i].in_place_of == plan.kept[i].in_place_of);
      CHECK(halved.kept[i].rows == plan.kept[i].rows);
    }
    require_no_violations(halved, model);
  }
  if (test::kSanitized) return;  // a subset of plans may lack some features
  CHECK(below > 200);
  CHECK(several > 50);
}

TEST_CASE("the untiled plan is valid, has whole tiles and no limit") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{20}));
  CAPTURE(seed);
  Random random(seed);
  const nlohmann::json config = test::random_config(random);
  const Extent latent{1, random.integer(1, 30), random.integer(1, 30)};
  CAPTURE(config.dump(), latent.y, latent.x);
  const Model model = test::model_of(config);
  const Plan plan = untiled_plan(model, request_for(model, latent, random.integer(1, 3)));
  CHECK(plan.limit_bytes == std::numeric_limits<int64_t>::max());
  CHECK(validate(plan, model).empty());
  for (const Pass& pass : plan.passes) CHECK((pass.tiles.y.size() == 1 && pass.tiles.x.size() == 1));
  // Each operation has exactly one step in the plan, so nothing is recomputed.
  std::vector<int> runs(model.graph.ops().size(), 0);
  for (const Pass& pass : plan.passes) {
    for (const Step& step : pass.steps) {
      if (step.op != OpId{-1} && step.kind != OpKind::norm) ++runs[index(step.op)];
    }
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(model.graph.ops()[i].name);
    const OpKind kind = model.graph.ops()[i].kind;
    if (kind == OpKind::conv || kind == OpKind::attention || kind == OpKind::statistics) CHECK(runs[i] == 1);
  }
}

TEST_CASE("decisions that contradict one another are refused") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 4, 4});
  const size_t passes = barrier_targets(model.graph).size();
  std::vector<PassDecision> decisions(passes);
  for (PassDecision& decision : decisions) decision.tile = {1, 64, 64};
  CHECK_NOTHROW(build_plan(model, request, {}, decisions, {}));
  SECTION("a decision too few") {
    decisions.pop_back();
    CHECK_THROWS_AS(build_plan(model, request, {}, decisions, {}), std::logic_error);
  }
  SECTION("a tensor is kept that nothing reads later") {
    decisions.back().keeps = {model.graph.find_tensor("decoder.conv_in")};
    CHECK_THROWS_AS(build_plan(model, request, {}, decisions, {}), std::logic_error);
  }
  SECTION("a tensor is kept before it can be computed") {
    decisions.front().keeps = {model.graph.find_tensor("decoder.up_blocks.1.resnets.0")};
    CHECK_THROWS_AS(build_plan(model, request, {}, decisions, {}), std::logic_error);
  }
}

TEST_CASE("a plan of 8192x8192 pixels counts in 64 bits") {
  const Model sdxl = resolve_model("sdxl");
  const Plan plan = untiled_plan(sdxl, {"sdxl", 8192, 8192, 1, 1, Dtype::fp16});
  CHECK(plan.predicted_peak_bytes > int64_t{60} << 30);
  CHECK(plan.predicted_peak_bytes < int64_t{1} << 40);
  CHECK(validate(plan, sdxl).empty());
}

}  // namespace
}  // namespace headroom
