#include "decoder/families/load_model.h"
#include "planner/search/make_plan.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/validator/validator.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;
using test::request_for;

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
