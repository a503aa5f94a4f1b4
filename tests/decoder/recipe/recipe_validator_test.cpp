#include "decoder/validator/recipe_validator.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/decoder/recipe/recipe_cases.h"

namespace headroom {
namespace {

struct Break {
  Violation::Kind expected;
  std::string what;
  std::function<void(RecipePlan&)> apply;
};

TEST_CASE("a recipe's plan with one thing wrong is refused for it") {
  const test::RecipeCase of = test::recipe_case("hunyuan_all_axes");
  const RecipePlan good = test::untiled_recipe_plan(of);
  REQUIRE(validate(good, of.model).empty());
  REQUIRE(good.recipe.tiles.t.size() == 2);
  const std::vector<Break> breaks{
      {Violation::skipped_region, "a hole", [](RecipePlan& p) { p.recipe.tiles.y[0].output.end -= 1; }},
      {Violation::computed_twice, "an overlap", [](RecipePlan& p) { p.recipe.tiles.x[1].output.begin -= 1; }},
      {Violation::skipped_region, "no last tile", [](RecipePlan& p) { p.recipe.tiles.x.pop_back(); }},
      {Violation::wrong_output, "another fade", [](RecipePlan& p) { p.recipe.tiles.y[1].fade -= 1; }},
      {Violation::wrong_output, "no dropped frame", [](RecipePlan& p) { p.recipe.tiles.t[1].skip = 0; }},
      {Violation::wrong_output, "other latents",
       [](RecipePlan& p) { p.recipe.tiles.t[1].latent.begin += 1; }},
      {Violation::wrong_output, "clamped", [](RecipePlan& p) { p.recipe.clamps = !p.recipe.clamps; }},
      {Violation::wrong_output, "other weights", [](RecipePlan& p) { p.recipe.step = 2; }},
      {Violation::wrong_output, "frames alone",
       [](RecipePlan& p) { p.recipe.name = RecipeName::diffusers_framewise; }},
      {Violation::malformed, "another tile's plan",
       [](RecipePlan& p) { p.plan_of_tile.front() = p.plan_of_tile.back(); }},
      {Violation::malformed, "no plan", [](RecipePlan& p) { p.plan_of_tile.front() = 99; }},
      {Violation::malformed, "too few", [](RecipePlan& p) { p.plan_of_tile.pop_back(); }},
      {Violation::malformed, "unused plan", [](RecipePlan& p) { p.plans.push_back(p.plans.front()); }},
      {Violation::peak_understated, "kept", [](RecipePlan& p) { p.kept_bytes -= 1; }},
      {Violation::peak_understated, "peak", [](RecipePlan& p) { p.predicted_peak_bytes -= 1; }},
      {Violation::peak_above_limit, "limit",
       [](RecipePlan& p) { p.limit_bytes = p.predicted_peak_bytes - 1; }},
      {Violation::malformed, "a size of no latent", [](RecipePlan& p) { p.request.width_pixels += 1; }},
      {Violation::peak_understated, "a tile's peak",
       [](RecipePlan& p) {
         p.plans[0].predicted_peak_bytes = 1;
         for (Pass& pass : p.plans[0].passes) pass.predicted_peak_bytes = 1;
       }},
  };
  for (const Break& each : breaks) {
    CAPTURE(each.what);
    RecipePlan broken = good;
    each.apply(broken);
    const std::vector<Violation> found = validate(broken, of.model);
    REQUIRE(!found.empty());
    CHECK(std::any_of(found.begin(), found.end(),
                      [&](const Violation& violation) { return violation.kind == each.expected; }));
  }
}

TEST_CASE("a recipe's plan for a model without tiles is refused") {
  test::RecipeCase of = test::recipe_case("kl_one_axis");
  const RecipePlan plan = test::untiled_recipe_plan(of);
  of.model.published_tiles.reset();
  CHECK_THROWS_WITH(require_valid(plan, of.model, "plan.json"),
                    Catch::Contains("plan.json: recipe: malformed: AutoencoderKL has no tiles"));
}

}  // namespace
}  // namespace headroom
