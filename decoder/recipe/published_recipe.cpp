#include "decoder/recipe/published_recipe.h"

#include <algorithm>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// Output positions that so many latent ones make.
int64_t made_by(int64_t positions, int32_t scale, bool over_time) {
  return over_time ? (positions - 1) * scale + 1 : positions * scale;
}

std::vector<RecipeTile> uncut(int64_t positions, int32_t scale, bool over_time) {
  return {{{0, positions}, {0, made_by(positions, scale, over_time)}}};
}

std::vector<RecipeTile> cut(const TileRule& rule, int64_t positions, int32_t scale, bool over_time) {
  std::vector<RecipeTile> tiles;
  int64_t made_before = 0;
  for (int64_t begin = 0; begin < positions; begin += rule.stride) {
    RecipeTile tile;
    tile.latent = {begin, std::min(begin + rule.extent, positions)};
    tile.skip = rule.drops_first && begin > 0 ? 1 : 0;
    const int64_t made = made_by(tile.latent.length(), scale, over_time) - tile.skip;
    if (made == 0) break;  // the last frame, of which the tile before has all
    tile.output.begin = begin * scale + tile.skip;
    tile.output.end = made_by(positions, scale, over_time);
    if (begin > 0) {
      tiles.back().output.end = tile.output.begin;
      tile.fade = std::min({rule.fade, made_before, made});
    }
    tiles.push_back(tile);
    made_before = made;
  }
  return tiles;
}

void check_name(const Model& model, RecipeName name) {
  const std::string asked = std::string("--recipe ") + name_of(name) + ": ";
  if (!model.published_tiles)
    throw InputError(asked + "the tiles of " + model.class_name + " with this config are not known here");
  if (name == RecipeName::diffusers_framewise && !model.published_tiles->frames)
    throw InputError(asked + model.class_name + " decodes all frames as one; expected diffusers-tiling");
}

}  // namespace

Recipe published_recipe(const Model& model, const Request& request, RecipeName name) {
  check_name(model, name);
  const PublishedTiles& rules = *model.published_tiles;
  const Extent latent = latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  const bool cuts_frames = rules.frames && latent.t > rules.frames->whole;
  const bool cuts_picture =
      name == RecipeName::diffusers_tiling && (latent.y > rules.rows.whole || latent.x > rules.columns.whole);
  Recipe recipe;
  recipe.name = name;
  recipe.step = rules.rows.step;
  recipe.clamps = model.graph.clamps() && (rules.clamps || !cuts_picture);
  recipe.tiles.t = cuts_frames ? cut(*rules.frames, latent.t, scale.t, true) : uncut(latent.t, scale.t, true);
  recipe.tiles.y = cuts_picture ? cut(rules.rows, latent.y, scale.y, false) : uncut(latent.y, scale.y, false);
  recipe.tiles.x =
      cuts_picture ? cut(rules.columns, latent.x, scale.x, false) : uncut(latent.x, scale.x, false);
  return recipe;
}

}  // namespace headroom
