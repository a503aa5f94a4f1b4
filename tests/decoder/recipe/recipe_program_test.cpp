#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/files/latent_file.h"
#include "decoder/graph/json_fields.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/recipe_file.h"
#include "decoder/program/run.h"
#include "planner/program/run.h"
#include "tests/decoder/recipe/recipe_cases.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::call;
using test::Ended;
using test::require_refused;
using test::Words;

/// A folder with the model and the latent of a golden case whose class has its tiles by itself.
struct ReadyRecipe {
  test::Scratch scratch;
  test::RecipeCase of = test::recipe_case("kl_both_axes");
  std::string latent = test::write_npy(scratch / "latent.npy", of.latent);
  std::string plan_file = scratch / "plan.json", output = scratch / "out.npy";

  Ended plan(const std::string& limit = "64MiB") const {
    return call(planner::run_plan, {"--model", of.request.model, "--size", "42x26", "--batch", "2", "--limit",
                                    limit, "--recipe", "diffusers-tiling", "-o", plan_file});
  }
  Ended decode(const Words& more) const {
    return call(run_decode, test::joined({"--model", of.request.model, "--random-weights", "11", "--latent",
                                          latent, "-o", output, "--threads", "2"},
                                         more));
  }
};

TEST_CASE("a recipe is planned, checked and decoded by the programs") {
  const ReadyRecipe ready;
  const Ended planned = ready.plan();
  CAPTURE(planned.err);
  REQUIRE(planned.code == 0);
  CHECK_THAT(planned.out, Catch::Contains("equals diffusers after enable_tiling(); 12 tiles of 6 sizes"));
  const Ended valid = call(planner::run_plan, {"validate", ready.plan_file});
  CHECK(valid.code == 0);
  CHECK_THAT(valid.out, Catch::Contains("valid"));

  const std::string stats = ready.scratch / "stats.json";
  const Ended decoded = ready.decode({"--plan", ready.plan_file, "--stats", stats});
  CAPTURE(decoded.err);
  REQUIRE(decoded.code == 0);
  CHECK_THAT(decoded.out, Catch::Contains("equals diffusers after enable_tiling()"));
  CHECK(test::relative_error(read_latent(ready.output), ready.of.expected) <= 1e-4);
  const nlohmann::json measured = read_json_file(stats, 1 << 20);
  CHECK(measured["equals"] == "diffusers after enable_tiling()");
  // The pool's share alone: what else is resident is the test program's too, and a sanitizer's.
  CHECK(measured["pool_peak_bytes"] <= measured["predicted_peak_bytes"]);
}

TEST_CASE("a plan with a recipe is the same when it is read again") {
  const ReadyRecipe ready;
  REQUIRE(ready.plan().code == 0);
  const Model& model = ready.of.model;
  const PlanFile file(ready.plan_file);
  REQUIRE(file.has_recipe());
  const RecipePlan plan = file.recipe_plan(model.graph);
  CHECK(plan.recipe.tiles.y.size() == 3);
  write_recipe_plan(ready.scratch / "again.json", plan, model.graph);
  CHECK(PlanFile(ready.scratch / "again.json").recipe_plan(model.graph) == plan);
}

TEST_CASE("what takes one decode refuses a plan with a recipe in one line") {
  const ReadyRecipe ready;
  REQUIRE(ready.plan().code == 0);
  require_refused(call(planner::run_plan, {"explain", ready.plan_file}), 2,
                  {"plan.json: recipe: expected a plan of one decode", "headroom-decode --plan runs them"});
  require_refused(ready.decode({"--plan", ready.plan_file, "--verify"}), 2, {"--verify: not of a plan with"});
  require_refused(ready.decode({"--plan", ready.plan_file, "--recipe", "diffusers-tiling"}), 2,
                  {"--recipe: goes with --limit"});
  require_refused(ready.decode({"--limit", "1GiB", "--recipe", "blended"}), 2,
                  {"--recipe: expected diffusers-tiling or diffusers-framewise"});
}

TEST_CASE("files of recipes that are wrong are refused with the key") {
  const ReadyRecipe ready;
  REQUIRE(ready.plan().code == 0);
  const nlohmann::json good = read_json_file(ready.plan_file, 1 << 26);
  CHECK(good["version"] == kRecipePlanVersion);
  const auto refused = [&](const char* pointer, const nlohmann::json& value, const std::string& part) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    ready.scratch.write("plan.json", bad.dump());
    require_refused(call(planner::run_plan, {"validate", ready.plan_file}), 2, {part});
  };
  refused("/recipe/name", "blended", "recipe.name: expected diffusers-tiling or");
  refused("/recipe/tiles/y", nlohmann::json::array(), "recipe.tiles.y: expected at least one tile");
  refused("/recipe/tiles/y/0/latent", {0}, "recipe.tiles.y[0].latent: expected [begin, end]");
  refused("/recipe/plan_of_tile/0", 6, "recipe.plan_of_tile[0]: expected an integer from 0 to 5");
  refused("/recipe/plan_of_tile", {0}, "recipe.plan_of_tile: expected one plan for each of the 12 tiles");
  refused("/recipe/kept_bytes", 1, "peak understated");
  refused("/version", kRecipePlanVersion + 1, "version");
}

TEST_CASE("a recipe that does not fit names the smallest limit") {
  const ReadyRecipe ready;
  require_refused(ready.plan("512KiB"), 3,
                  {"the tiles of diffusers-tiling take at least", "are kept to blend them; of a tile: "});
}

}  // namespace
}  // namespace headroom
