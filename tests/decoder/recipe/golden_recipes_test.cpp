#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/session/recipe_run.h"
#include "planner/explain/why_not.h"
#include "tests/decoder/recipe/recipe_cases.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using test::RecipeCase;

test::Decoded decoded(const RecipeCase& of, const RecipePlan& plan, gpu::Gpu* gpu = nullptr) {
  start_libraries(2);
  test::MemorySink sink(test::picture_shape(of.model, of.request));
  RecipeHooks hooks;
  hooks.gpu = gpu;
  RunStats stats = decode(of.model, plan, test::random_source(test::kRecipeWeights), of.latent, sink, hooks);
  sink.finish();
  REQUIRE(sink.overwritten == 0);
  return {std::move(sink.picture), std::move(stats)};
}

/// Plans as the program does.
RecipePlan planned(const RecipeCase& of, int64_t limit_bytes) {
  const Model of_tiles = for_blended_tiles(of.model);
  return planner::plan_recipe(
      of.model, of.request, of.recipe, limit_bytes, [&](const Request& tile, int64_t limit) {
        return planner::plan_or_explain(
            {of_tiles, tile, {.limit_bytes = limit}, planner::CostModel(of_tiles.graph, tile.device)});
      });
}

TEST_CASE("decodes by a recipe are diffusers' own, whatever plans decode the tiles") {
  const std::vector<std::string> cases = test::recipe_cases(HEADROOM_TEST_DATA);
  CHECK(cases.size() == 22);
  test::Random random(5);
  for (const std::string& name : cases) {
    CAPTURE(name);
    const RecipeCase of = test::recipe_case(name);
    RecipePlan plan = test::untiled_recipe_plan(of);
    CHECK(validate(plan, of.model).empty());
    const Array whole = decoded(of, plan).picture;
    CHECK(test::relative_error(whole, of.expected) <= 1e-4);
    const Model of_tiles = for_blended_tiles(of.model);
    for (Plan& tile : plan.plans) {
      const int64_t limit = tile.limit_bytes;
      tile = test::random_plan(of_tiles, tile.request, 1, {}, {}, random).plan;
      tile.limit_bytes = limit;
    }
    plan.predicted_peak_bytes = predict(plan).peak_bytes;
    CHECK(validate(plan, of.model).empty());
    const Array tiled = decoded(of, plan).picture;
    CHECK(test::relative_error(tiled, of.expected) <= 1e-4);
    CHECK(test::relative_error(tiled, whole) <= test::kExact);
  }
}

TEST_CASE("the smallest limit that a refusal names holds all of a recipe") {
  std::vector<const char*> names{"kl_both_axes", "wan_clip", "hunyuan_all_axes"};
  if (test::kSanitized) names.resize(1);  // its searches take a minute there
  for (const char* name : names) {
    CAPTURE(name);
    const RecipeCase of = test::recipe_case(name);
    int64_t smallest = 0;
    try {
      planned(of, 1);
    } catch (const DoesNotFit& refused) {
      smallest = refused.smallest_limit_bytes;
      CHECK_THAT(refused.what(), Catch::Contains("to blend them"));
    }
    REQUIRE(smallest > 0);
    CHECK_THROWS_AS(planned(of, smallest - 1), DoesNotFit);
    const RecipePlan plan = planned(of, smallest);
    CHECK(validate(plan, of.model).empty());
    CHECK(plan.predicted_peak_bytes <= smallest);
    const test::Decoded done = decoded(of, plan);
    CHECK(test::relative_error(done.picture, of.expected) <= 1e-4);
    const RecipePrediction prediction = predict(plan);
    CHECK(done.stats.pool_peak_bytes <= prediction.pool_bytes);
    CHECK(prediction.pool_bytes + prediction.reserve_bytes + plan.kept_bytes == plan.predicted_peak_bytes);
    CHECK(done.stats.equals == equals_of(of.recipe));
  }
}

TEST_CASE("tiles of a recipe are decoded on a GPU") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  for (const char* name : {"kl_rows_that_fit", "wan_picture", "hunyuan_five_frames"}) {
    CAPTURE(name);
    const RecipeCase of = test::recipe_case(name, DeviceKind::cuda);
    const RecipePlan plan = planned(of, int64_t{1} << 30);
    CHECK(validate(plan, of.model).empty());
    const test::Decoded done = decoded(of, plan, gpu.get());
    CHECK(test::relative_error(done.picture, of.expected) <= 1e-4);
    CHECK(done.stats.peak_bytes <= plan.predicted_peak_bytes);
  }
}

TEST_CASE("a latent that is not the whole request's is refused") {
  RecipeCase of = test::recipe_case("kl_one_axis");
  const RecipePlan plan = test::untiled_recipe_plan(of);
  of.latent.shape.back() -= 1;
  CHECK_THROWS_WITH(decoded(of, plan), Catch::Contains("latent: expected shape 1x4x3x10"));
}

}  // namespace
}  // namespace headroom
