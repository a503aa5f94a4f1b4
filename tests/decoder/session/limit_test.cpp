#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "decoder/base/errors.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::request_for;

/// A model whose tiles need more memory than its weights.
nlohmann::json wide_config() {
  nlohmann::json config = test::tiny_config({16, 32});
  config["mid_block_add_attention"] = false;
  return config;
}

/// Peak of the pool in a decode without a limit.
int64_t pool_peak(const Model& model, Plan plan, const Array& latent) {
  plan.limit_bytes = int64_t{1} << 40;
  return test::decode_to_memory(model, plan, test::random_source(1), latent).stats.pool_peak_bytes;
}

TEST_CASE("under a limit below what a plan needs the decode stops, and says at which pass and layer") {
  const Model model = test::model_of(wide_config());
  const Request request = request_for(model, {1, 20, 20});
  const Array latent = test::latent_for(model, request, 1);
  const planner::CostModel costs(model.graph);
  Plan plan = planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 30}, costs}).value();
  const int64_t needed = pool_peak(model, plan, latent);
  REQUIRE(needed > plan.weights_bytes * 2);
  int refusals = 0;
  for (int share = 1; share < 40; ++share) {
    const int64_t pool_limit = needed * share / 40;
    CAPTURE(needed, pool_limit);
    // Understates the plan's peak, so that only the pool can detect the overrun.
    plan.limit_bytes = pool_limit + plan.reserve_bytes;
    plan.predicted_peak_bytes = plan.limit_bytes;
    for (Pass& pass : plan.passes) pass.predicted_peak_bytes = plan.limit_bytes;
    test::MemorySink sink(test::picture_shape(model, request));
    try {
      decode(model, plan, test::random_source(1), latent, sink, nullptr);
      FAIL("expected a refusal");
    } catch (const LimitExceeded& refused) {
      const std::string message = refused.what();
      CAPTURE(message);
      CHECK_THAT(message, Catch::Contains("asked for"));
      CHECK_THAT(message, Catch::Contains("live of a limit of " + std::to_string(pool_limit)));
      std::smatch found;
      if (std::regex_search(message, found, std::regex("^pass ([0-9]+) \\(([^)]*)\\), ([a-z]+) ([^ ]+): "))) {
        const auto pass = static_cast<size_t>(std::stoi(found[1]));
        REQUIRE(pass < plan.passes.size());
        CHECK(found[2] == plan.passes[pass].name);
        CHECK(model.graph.find_tensor(found[4]) != TensorId{-1});
        ++refusals;
      } else {
        CHECK_THAT(message, Catch::Contains("weights") || Catch::Contains("latent"));
      }
    }
    CHECK_FALSE(sink.complete_called);
  }
  CHECK(refusals > 20);
}

TEST_CASE("the pool's true peak is enough, and one page less is not") {
  const Model model = test::model_of(wide_config());
  const Request request = request_for(model, {1, 12, 12});
  const Array latent = test::latent_for(model, request, 2);
  Plan plan =
      planner::make_plan({model, request, {.limit_bytes = int64_t{1} << 30}, planner::CostModel(model.graph)})
          .value();
  const int64_t needed = pool_peak(model, plan, latent);
  plan.limit_bytes = needed + plan.reserve_bytes;
  CHECK(test::decode_to_memory(model, plan, test::random_source(1), latent).stats.pool_peak_bytes == needed);
  plan.limit_bytes -= 4096;
  test::MemorySink sink(test::picture_shape(model, request));
  CHECK_THROWS_AS(decode(model, plan, test::random_source(1), latent, sink, nullptr), LimitExceeded);
}

TEST_CASE("what the planner predicts is what the pool measures, to 80 KiB") {
  const Model model = test::model_of(wide_config());
  // With 41 rows, the last band of tiles is shorter than the others.
  const Request request = request_for(model, GENERATE(Extent{1, 40, 24}, Extent{1, 41, 27}));
  const Array latent = test::latent_for(model, request, 3);
  const planner::CostModel costs(model.graph);
  planner::PlanSpace space(model, request, {}, costs);
  const int64_t smallest = planner::smallest_limit(space).bytes;
  for (const int64_t limit :
       {smallest, smallest + (1 << 19), smallest + (1 << 20), smallest + (3 << 20), int64_t{1} << 40}) {
    CAPTURE(smallest, limit);
    const Plan plan = planner::make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    const RunStats stats = test::decode_to_memory(model, plan, test::random_source(1), latent).stats;
    const int64_t measured = stats.pool_peak_bytes + plan.reserve_bytes;
    CAPTURE(plan.predicted_peak_bytes, measured);
    CHECK(measured <= plan.predicted_peak_bytes);
    CHECK(plan.predicted_peak_bytes <= limit);
    CHECK(plan.predicted_peak_bytes - measured <= 80 * 1024);
    CHECK(stats.predicted_peak_bytes == plan.predicted_peak_bytes);
    CHECK(stats.limit_bytes == plan.limit_bytes);
  }
}

}  // namespace
}  // namespace headroom
