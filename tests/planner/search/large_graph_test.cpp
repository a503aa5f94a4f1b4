#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/validator/validator.h"
#include "planner/search/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

namespace headroom::planner {
namespace {

TEST_CASE("graphs of 500 operations with skips from far back are planned") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{4}));
  CAPTURE(seed);
  test::Random random(seed);
  const Model model = test::large_model(random);
  REQUIRE(model.graph.ops().size() >= 500);
  const Request request = test::request_for(model, {1, random.integer(8, 64), random.integer(8, 64)});
  const CostModel costs(model.graph);
  double before = 0;
  int64_t limit = int64_t{1} << 50;
  // Round 0 has no limit. Round 1 allows three quarters of round 0's peak.
  for (int round = 0; round < 2; ++round) {
    CAPTURE(limit);
    const Plan plan = make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    CHECK(validate(plan, model).empty());
    CHECK(plan.predicted_peak_bytes <= limit);
    CHECK(plan.optimal);
    CHECK(plan.predicted_seconds >= before);
    before = plan.predicted_seconds;
    limit = plan.predicted_peak_bytes * 3 / 4;
  }
}

TEST_CASE("a tensor that is read more than eight barriers later is kept until then") {
  Model model;
  model.name = "long";
  model.class_name = "AutoencoderKL";
  model.latent_channels = 4;
  Graph& graph = model.graph;
  const TensorId first = graph.conv("in", graph.add_latent(4), 8, {1, 3, 3});
  TensorId x = first;
  for (int i = 0; i < 14; ++i) {
    const std::string name = "part" + std::to_string(i);
    const TensorId n =
        graph.norm(name + ".norm", x, graph.statistics(name + ".statistics", x, 2, 1e-6), Activation::silu);
    x = graph.conv(name, n, 8, {1, 3, 3});
  }
  graph.set_output(graph.conv("out", graph.add("skip", x, first), 3, {1, 3, 3}));
  const Request request = test::request_for(model, {1, 24, 24});
  const CostModel costs(graph);
  const Plan plan = make_plan({model, request, {.limit_bytes = int64_t{1} << 40}, costs}).value();
  CHECK(validate(plan, model).empty());
  CHECK(std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& entry) {
    return entry.tensor == first && entry.last_pass + 1 == static_cast<int32_t>(plan.passes.size());
  }));
  CHECK_FALSE(make_plan({model, request, {.limit_bytes = 1}, costs}));
}

}  // namespace
}  // namespace headroom::planner
