#include "decoder/families/load_model.h"
#include "planner/search/make_plan.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/schedule/storage.h"
#include "decoder/validator/validator.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;
using test::request_for;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Limits from the smallest feasible one to practically unlimited.
std::vector<int64_t> limits(int64_t smallest, int64_t fixed) {
  const int64_t above = smallest - fixed;
  return {smallest,         smallest + above / 20, smallest + above / 4, smallest + above / 2,
          smallest + above, smallest + 3 * above,  int64_t{1} << 50};
}

TEST_CASE("at the smallest limit a plan exists, and one byte below none") {
  const uint64_t seed = GENERATE(range(uint64_t{200}, uint64_t{210}, test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const nlohmann::json config = test::random_config(random);
  CAPTURE(config.dump());
  const Model model = test::model_of(config);
  const Extent latent{1, random.integer(1, 24), random.integer(1, 24)};
  const Request request = request_for(model, latent, random.integer(1, 2));
  const CostModel costs(model.graph);
  const Problem nothing{model, request, {}, costs};
  const int64_t smallest = quick_smallest_plan(nothing, spaces_of(nothing)).limit_bytes;
  const Plan plan = make_plan({model, request, {.limit_bytes = smallest}, costs}).value();
  CHECK(plan.predicted_peak_bytes == smallest);
  CHECK(plan.optimal);
  CHECK(plan.exact);
  CHECK(plan.assumed);
  CHECK(validate(plan, model).empty());
  CHECK_FALSE(make_plan({model, request, {.limit_bytes = smallest - 1}, costs}));
}

TEST_CASE("more memory never makes a plan slower", "[long]") {
  const uint64_t seed = GENERATE(range(uint64_t{300}, uint64_t{306}));
  CAPTURE(seed);
  Random random(seed);
  const Model model = test::model_of(test::random_config(random));
  const Extent latent{1, random.integer(8, 40), random.integer(8, 40)};
  const Request request = request_for(model, latent, random.integer(1, 3));
  const CostModel costs(model.graph);
  PlanSpace space(model, request, {}, costs);
  const int64_t smallest = smallest_limit(space).bytes;
  double before = kInfinity;
  for (const int64_t limit : limits(smallest, space.fixed_bytes())) {
    const Plan plan = make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    CHECK(plan.predicted_seconds <= before);
    CHECK(plan.predicted_peak_bytes <= limit);
    double seconds = plan.weights == WeightResidency::resident
                         ? costs.weights_seconds(resident_weights_bytes(model.graph, {}))
                         : 0;
    for (const Pass& pass : plan.passes) seconds += pass.predicted_seconds;
    CHECK(seconds == Approx(plan.predicted_seconds).epsilon(1e-9));
    before = plan.predicted_seconds;
  }
}

TEST_CASE("SDXL at 512x512 keeps to its limit, and its smallest limit is far below untiled") {
  const Model sdxl = resolve_model("sdxl");
  const Request request{"sdxl", 512, 512, 1, 1, Dtype::fp32};
  const CostModel costs(sdxl.graph);
  const Plan plan = make_plan({sdxl, request, {.limit_bytes = int64_t{576} << 20}, costs}).value();
  CHECK(plan.predicted_peak_bytes <= int64_t{576} << 20);
  PlanSpace space(sdxl, request, {}, costs);
  const SmallestLimit smallest = smallest_limit(space);
  CHECK(smallest.bytes < int64_t{400} << 20);
  CHECK(smallest.pass < space.passes());
}

}  // namespace
}  // namespace headroom::planner
