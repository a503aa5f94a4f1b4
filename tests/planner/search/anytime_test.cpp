#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/validator/validator.h"
#include "planner/search/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

namespace headroom::planner {
namespace {

using test::Random;

TEST_CASE("a search cut short gives a valid plan with its bound, or says that it needs more time") {
  const uint64_t ten = GENERATE(range(uint64_t{0}, uint64_t{10}));
  for (uint64_t seed = ten * 10; seed < (ten + 1) * 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model =
        test::random_model(random, {.operations = random.integer(4, 60), .barriers = random.integer(1, 14)});
    const Extent latent{1, random.integer(2, 48), random.integer(2, 48)};
    const Request request = test::request_for(model, latent, random.pick<int64_t>({1, 1, 2}));
    const CostModel costs(model.graph);
    PlanOptions options;
    options.scratch_folder = "/";
    if (random.chance(0.3)) options.scratch_limit_bytes = random.integer(1, 100) * 65536;
    options.limit_bytes = int64_t{1} << 50;
    if (random.chance(0.6)) {
      PlanSpace space(model, request, {}, costs);
      options.limit_bytes = smallest_limit(space).bytes * random.integer(10, 20) / 10;
    }
    const double optimum = make_plan({model, request, options, costs}).value().predicted_seconds;
    for (const double budget : {0.0, 1e-6, random.uniform(0, 2e-3), random.uniform(0, 2e-2), 60.0}) {
      CAPTURE(budget);
      options.time_budget_seconds = budget;
      try {
        const Plan plan = make_plan({model, request, options, costs}).value();
        REQUIRE(validate(plan, model).empty());
        REQUIRE(plan.predicted_peak_bytes <= options.limit_bytes);
        REQUIRE(plan.predicted_seconds >= optimum * (1 - 1e-12));
        REQUIRE(plan.bound_seconds <= optimum * (1 + 1e-12));
        REQUIRE(plan.bound_seconds > 0);
        if (plan.optimal) REQUIRE(plan.predicted_seconds == Approx(optimum).epsilon(1e-8));
        if (budget == 60.0) REQUIRE(plan.optimal);
      } catch (const NoPlanInTime& refused) {
        REQUIRE(budget < 60);
        REQUIRE(refused.bound_seconds <= optimum * (1 + 1e-12));
        REQUIRE_THAT(refused.what(), Catch::Contains("--time-budget"));
      }
    }
  }
}

}  // namespace
}  // namespace headroom::planner
