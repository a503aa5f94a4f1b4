#include "profiler/libtorch/asked_decodes.h"

#include "decoder/graph/errors.h"
#include "decoder/graph/published_tiles.h"
#include "decoder/recipe/published_recipe.h"
#include "profiler/eager/layer_memory.h"

namespace headroom::profiler {
namespace {

/// The class's own tiles, or those that are asked for, which overlap by a quarter.
std::optional<PublishedTiles> tiles_of(const Model& model, const EagerRequest& request) {
  std::optional<PublishedTiles> tiles = model.published_tiles;
  if (!tiles || request.tile == 0) return tiles;
  for (TileRule* rule : {&tiles->rows, &tiles->columns}) {
    const int64_t step = rule->step;
    *rule = rule_of_quarters(request.tile, model.graph.tensor(model.graph.output()).scale.y);
    rule->step = step;
  }
  return tiles;
}

/// Where the class would cut it.
std::optional<Recipe> recipe_of(const Model& tiled, const Request& request) {
  Recipe recipe = published_recipe(tiled, request, RecipeName::diffusers_tiling);
  return tile_count(recipe) > 1 ? std::optional(std::move(recipe)) : std::nullopt;
}

}  // namespace

std::vector<AskedDecode> asked_decodes(const Model& model, const EagerRequest& request) {
  Model tiled = model;
  tiled.published_tiles = tiles_of(model, request);
  const bool in_tiles = request.in_tiles && tiled.published_tiles;
  if (!request.whole && !in_tiles)
    throw InputError("--tilings: of " + model.class_name + " with this config no tiles are known here");
  const bool of_clips = eager_class(model.class_name) == EagerClass::wan;
  std::vector<AskedDecode> list;
  for (const auto& [width, height] : request.sizes) {
    latent_extent(model, width, height, request.frames);  // throws where there is no such latent
    const Request of_size{.model = request.model,
                          .width_pixels = width,
                          .height_pixels = height,
                          .frames = request.frames,
                          .batch = request.batch,
                          .dtype = request.dtype,
                          .device = request.device};
    std::optional<Recipe> recipe;
    if (in_tiles) recipe = recipe_of(tiled, of_size);
    for (const EagerLayout layout : request.layouts) {
      if (layout == EagerLayout::channels_last && of_clips) continue;
      if (request.whole) list.push_back({of_size, layout, {}});
      if (recipe) list.push_back({of_size, layout, recipe});
    }
  }
  if (list.empty() && of_clips && !contains(request.layouts, EagerLayout::nchw))
    throw InputError("--layouts: clips are decoded in nchw alone");
  if (list.empty()) throw InputError("--tilings: none of the sizes is larger than a tile");
  return list;
}

std::string text_of(const AskedDecode& asked) {
  return std::to_string(asked.request.width_pixels) + "x" + std::to_string(asked.request.height_pixels) +
         " " + name_of(asked.layout) + (asked.tiles ? " in tiles" : "");
}

}  // namespace headroom::profiler
