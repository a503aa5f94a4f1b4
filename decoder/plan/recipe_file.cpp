#include "decoder/plan/recipe_file.h"

#include <nlohmann/json.hpp>

#include "decoder/outputs/whole_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/ranked_plan_file.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kMostRecipeTiles = 10'000;  ///< along one axis
constexpr size_t kMostTilesInAll = 1'000'000;
constexpr size_t kMostTilePlans = 1000;
/// A plan's steps stand on lines of their own.
constexpr int kDeepestExpandedRecipe = 5;

json interval_to_json(const Interval& interval) {
  return {interval.begin, interval.end};
}

json tiles_to_json(const std::vector<RecipeTile>& tiles) {
  json out = json::array();
  for (const RecipeTile& tile : tiles) {
    json entry{{"latent", interval_to_json(tile.latent)}, {"output", interval_to_json(tile.output)}};
    if (tile.skip > 0) entry["skip"] = tile.skip;
    if (tile.fade > 0) entry["fade"] = tile.fade;
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<RecipeTile> tiles_from_json(const JsonFields& fields) {
  std::vector<RecipeTile> tiles;
  const size_t count = fields.size(kMostRecipeTiles);
  if (count == 0) fields.fail("expected at least one tile, found none");
  for (size_t i = 0; i < count; ++i) {
    RecipeTile tile{read_interval(fields[i]["latent"], kMostPixels),
                    read_interval(fields[i]["output"], kMostPixels)};
    if (fields[i].has("skip")) tile.skip = fields[i]["skip"].integer(0, kMostPixels);
    if (fields[i].has("fade")) tile.fade = fields[i]["fade"].integer(0, kMostPixels);
    tiles.push_back(tile);
  }
  return tiles;
}

Recipe recipe_from_json(const JsonFields& fields) {
  Recipe recipe;
  const std::string name = fields["name"].text();
  try {
    recipe.name = parse_recipe(name, "");
  } catch (const InputError&) {  // said again here, with the file and the key
    fields["name"].fail("expected diffusers-tiling or diffusers-framewise, found " +
                        fields["name"].value().dump().substr(0, 40));
  }
  const JsonFields tiles = fields["tiles"];
  recipe.tiles = {tiles_from_json(tiles["t"]), tiles_from_json(tiles["y"]), tiles_from_json(tiles["x"])};
  if (recipe.tiles.t.size() * recipe.tiles.y.size() * recipe.tiles.x.size() > kMostTilesInAll)
    tiles.fail("expected at most " + std::to_string(kMostTilesInAll) + " tiles in all");
  recipe.step = fields["step"].integer(1, 1 << 10);
  recipe.clamps = fields["clamps"].boolean();
  return recipe;
}

}  // namespace

bool has_recipe(const JsonFields& file) {
  return file.has("recipe");
}

json to_json(const RecipePlan& plan, const Graph& graph) {
  const Recipe& recipe = plan.recipe;
  json out{{"schema", "headroom.plan"},
           {"version", kRecipePlanVersion},
           {"request", to_json(plan.request)},
           {"limit_bytes", plan.limit_bytes},
           {"predicted", {{"peak_bytes", plan.predicted_peak_bytes}, {"seconds", plan.predicted_seconds}}},
           {"recipe",
            {{"name", name_of(recipe.name)},
             {"equals", equals_of(recipe.name)},
             {"kept_bytes", plan.kept_bytes},
             {"step", recipe.step},
             {"clamps", recipe.clamps},
             {"tiles",
              {{"t", tiles_to_json(recipe.tiles.t)},
               {"y", tiles_to_json(recipe.tiles.y)},
               {"x", tiles_to_json(recipe.tiles.x)}}},
             {"plan_of_tile", plan.plan_of_tile},
             {"plans", json::array()}}}};
  for (const Plan& tile : plan.plans) out["recipe"]["plans"].push_back(to_json(tile, graph));
  return out;
}

RecipePlan recipe_plan_from_json(const JsonFields& file, const Graph& graph) {
  RecipePlan plan;
  plan.request = read_request(file);
  if (has_ranks(file)) file["ranks"].fail("expected none beside a recipe");
  plan.limit_bytes = file["limit_bytes"].integer(0, INT64_MAX);  // the largest stands for no limit
  plan.predicted_peak_bytes = file["predicted"]["peak_bytes"].integer(0, kMostBytes);
  plan.predicted_seconds = file["predicted"]["seconds"].amount();
  const JsonFields fields = file["recipe"];
  plan.kept_bytes = fields["kept_bytes"].integer(0, kMostBytes);
  plan.recipe = recipe_from_json(fields);
  const JsonFields plans = fields["plans"];
  const size_t sizes = plans.size(kMostTilePlans);
  if (sizes == 0) plans.fail("expected at least one plan, found none");
  for (size_t i = 0; i < sizes; ++i) plan.plans.push_back(plan_from_json(plans[i], graph));
  const JsonFields numbers = fields["plan_of_tile"];
  const size_t tiles = numbers.size(kMostTilesInAll);
  if (tiles != tile_count(plan.recipe)) {
    numbers.fail("expected one plan for each of the " + std::to_string(tile_count(plan.recipe)) +
                 " tiles, found " + std::to_string(tiles));
  }
  for (size_t i = 0; i < tiles; ++i)
    plan.plan_of_tile.push_back(static_cast<int32_t>(numbers[i].integer(0, static_cast<int64_t>(sizes) - 1)));
  return plan;
}

void write_recipe_plan(const std::filesystem::path& file, const RecipePlan& plan, const Graph& graph) {
  write_file_whole(file, json_text(to_json(plan, graph), kDeepestExpandedRecipe) + '\n');
}

}  // namespace headroom
