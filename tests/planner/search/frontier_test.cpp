#include "planner/search/frontier.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "planner/search/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/thorough.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;

TEST_CASE("a frontier falls, and every point of it is what the planner finds under that limit") {
  const uint64_t ten = GENERATE(range(uint64_t{0}, uint64_t{10}, 2 * test::kCaseStep - 1));
  for (uint64_t seed = ten * 10; seed < (ten + 1) * 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model = random.chance(0.2) ? test::model_of(test::random_config(random))
                                           : test::random_model(random, {.operations = random.integer(4, 24),
                                                                         .barriers = random.integer(1, 5)});
    const Extent latent{1, random.integer(2, 48), random.integer(2, 48)};
    const Request request = test::request_for(model, latent, random.pick<int64_t>({1, 1, 2}));
    const CostModel costs(model.graph);
    PlanOptions options;
    options.scratch_folder = "/";
    if (random.chance(0.3)) options.scratch_limit_bytes = random.integer(1, 100) * 65536;
    const auto most = static_cast<size_t>(random.integer(2, 12));
    const std::vector<FrontierPoint> points = frontier({model, request, options, costs}, most);
    REQUIRE_FALSE(points.empty());
    REQUIRE(points.size() <= most);
    for (size_t i = 0; i < points.size(); ++i) {
      CAPTURE(i, most);
      if (i > 0) {
        REQUIRE(points[i].peak_bytes < points[i - 1].peak_bytes);
        REQUIRE(points[i].seconds > points[i - 1].seconds);
      }
      options.limit_bytes = points[i].peak_bytes;
      const Plan plan = make_plan({model, request, options, costs}).value();
      REQUIRE(plan.predicted_seconds == Approx(points[i].seconds).epsilon(1e-9));
      REQUIRE(plan.predicted_peak_bytes <= points[i].peak_bytes);
    }
    // Ample memory gives the fastest plan. One byte less than the last point is too little for any plan.
    options.limit_bytes = int64_t{1} << 50;
    CHECK(make_plan({model, request, options, costs}).value().predicted_seconds ==
          Approx(points.front().seconds).epsilon(1e-9));
    options.limit_bytes = points.back().peak_bytes - 1;
    CHECK_FALSE(make_plan({model, request, options, costs}));
  }
}

}  // namespace
}  // namespace headroom::planner
