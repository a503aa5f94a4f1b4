#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/files/latent_file.h"
#include "decoder/graph/json_fields.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/validator/recipe_validator.h"
#include "planner/search/recipe.h"
#include "tests/support/decoding.h"

namespace headroom::test {

/// A decode of diffusers by its own tiles (tests/reference/make_golden_recipes.py).
struct RecipeCase {
  std::string name;
  Model model;  ///< of the case's frames, with the case's settings of tiles
  Request request;
  RecipeName recipe{};
  Array latent;
  Array expected;
};

// As in tests/reference/make_golden.py.
constexpr uint64_t kRecipeWeights = 11;
constexpr uint64_t kRecipeLatent = 12;

inline TileSettings settings_of(const nlohmann::json& json) {
  TileSettings settings;
  settings.height = json.value("tile_sample_min_height", settings.height);
  settings.width = json.value("tile_sample_min_width", settings.width);
  settings.frames = json.value("tile_sample_min_num_frames", settings.frames);
  settings.stride_height = json.value("tile_sample_stride_height", settings.stride_height);
  settings.stride_width = json.value("tile_sample_stride_width", settings.stride_width);
  settings.stride_frames = json.value("tile_sample_stride_num_frames", settings.stride_frames);
  return settings;
}

inline RecipeCase recipe_case(const std::string& name, DeviceKind device = DeviceKind::cpu) {
  const std::filesystem::path folder = std::filesystem::path(HEADROOM_TEST_DATA "/golden_recipes") / name;
  const nlohmann::json settings = read_json_file(folder / "recipe.json", 1 << 20);
  RecipeCase found;
  found.name = name;
  found.expected = read_latent((folder / "expected.npy").string());
  const std::vector<int64_t>& shape = found.expected.shape;
  found.request = {
      folder.string(), shape.back(), shape[shape.size() - 2], shape.size() == 5 ? shape[2] : 1, shape[0],
      Dtype::fp32,     device};
  found.model = for_frames(resolve_model(folder.string()), found.request.frames);
  found.recipe = parse_recipe(settings["recipe"], "recipe");
  if (settings.size() > 1) {  // others than its class has by itself
    REQUIRE(found.model.published_tiles);
    const PublishedTiles own = *found.model.published_tiles;
    found.model.published_tiles =
        tiles_of_settings(settings_of(settings), found.model.graph.tensor(found.model.graph.output()).scale,
                          own.rows.step, own.frames.has_value());
    REQUIRE(found.model.published_tiles);
    found.model.published_tiles->clamps = own.clamps;
  }
  found.latent = latent_for(found.model, found.request, kRecipeLatent);
  return found;
}

inline std::vector<std::string> recipe_cases(const std::string& data) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data + "/golden_recipes"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A plan whose tiles are decoded whole.
inline RecipePlan untiled_recipe_plan(const RecipeCase& of) {
  const Model of_tiles = for_blended_tiles(of.model);
  return planner::plan_recipe(of.model, of.request, of.recipe, std::numeric_limits<int64_t>::max(),
                              [&](const Request& tile, int64_t limit_bytes) {
                                Plan plan = untiled_plan(of_tiles, tile);
                                plan.limit_bytes = limit_bytes;
                                return plan;
                              });
}

}  // namespace headroom::test
