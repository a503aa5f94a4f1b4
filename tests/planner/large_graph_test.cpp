#include <catch2/catch.hpp>

#include "decoder/graph/errors.h"
#include "decoder/plan/validator.h"
#include "planner/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

namespace headroom {
namespace {

TEST_CASE("graphs of 500 operations with skips from far back are planned at their smallest limit and above") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{6}));
  CAPTURE(seed);
  test::Random random(seed);
  const Model model = test::large_model(random);
  REQUIRE(model.graph.ops().size() >= 500);
  const Request request = test::request_for(model, {1, random.integer(8, 64), random.integer(8, 64)});
  const CostModel costs(model.graph);
  int64_t smallest = 0;
  try {
    make_plan(model, request, {}, costs);
    FAIL("nothing fits into nothing");
  } catch (const DoesNotFit& refused) {
    smallest = refused.smallest_limit_bytes;
  }
  double before = std::numeric_limits<double>::infinity();
  for (const int64_t limit : {smallest, smallest * 2, int64_t{1} << 50}) {
    CAPTURE(limit, smallest);
    const Plan plan = make_plan(model, request, {.limit_bytes = limit}, costs);
    CHECK(validate(plan, model).empty());
    CHECK(plan.predicted_peak_bytes <= limit);
    CHECK(plan.optimal);
    CHECK(plan.predicted_seconds <= before);
    before = plan.predicted_seconds;
  }
  CHECK_THROWS_AS(make_plan(model, request, {.limit_bytes = smallest - 1}, costs), DoesNotFit);
}

}  // namespace
}  // namespace headroom
