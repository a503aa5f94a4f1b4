#include "decoder/plan/recipe.h"

#include <algorithm>

#include "decoder/graph/errors.h"

namespace headroom {

const char* name_of(RecipeName name) {
  switch (name) {
    case RecipeName::diffusers_tiling:
      return "diffusers-tiling";
    case RecipeName::diffusers_framewise:
      return "diffusers-framewise";
  }
  return "?";
}

RecipeName parse_recipe(const std::string& text, const std::string& option) {
  for (RecipeName name : {RecipeName::diffusers_tiling, RecipeName::diffusers_framewise}) {
    if (text == name_of(name)) return name;
  }
  throw InputError(option + ": expected diffusers-tiling or diffusers-framewise, found '" +
                   text.substr(0, 40) + "'");
}

const char* equals_of(RecipeName name) {
  return name == RecipeName::diffusers_tiling ? "diffusers after enable_tiling()"
                                              : "diffusers as it decodes clips by default, framewise";
}

int64_t span_of(const std::vector<RecipeTile>& tiles, size_t tile) {
  const int64_t faded_by_next = tile + 1 < tiles.size() ? tiles[tile + 1].fade : 0;
  return tiles[tile].output.length() + faded_by_next;
}

Axes<size_t> tile_at(const Recipe& recipe, size_t number) {
  const size_t columns = recipe.tiles.x.size(), rows = recipe.tiles.y.size();
  return {number / columns / rows, number / columns % rows, number % columns};
}

size_t tile_count(const Recipe& recipe) {
  return recipe.tiles.t.size() * recipe.tiles.y.size() * recipe.tiles.x.size();
}

Request request_of_tile(const Request& whole, const Recipe& recipe, const Axes<size_t>& tile) {
  const auto made = [](const std::vector<RecipeTile>& tiles, size_t i) {
    return tiles[i].skip + span_of(tiles, i);
  };
  Request request = whole;
  request.frames = made(recipe.tiles.t, tile.t);
  request.height_pixels = made(recipe.tiles.y, tile.y);
  request.width_pixels = made(recipe.tiles.x, tile.x);
  return request;
}

RecipePrediction predict(const RecipePlan& plan) {
  RecipePrediction prediction;
  for (const Plan& tile : plan.plans) {
    prediction.pool_bytes = std::max(prediction.pool_bytes, tile.predicted_peak_bytes - tile.reserve_bytes);
    prediction.reserve_bytes = std::max(prediction.reserve_bytes, tile.reserve_bytes);
    prediction.peak_bytes = std::max(prediction.peak_bytes, tile.predicted_peak_bytes);
  }
  if (plan.request.device == DeviceKind::cpu) {
    prediction.kept_bytes = plan.kept_bytes;
    prediction.peak_bytes = prediction.pool_bytes + prediction.reserve_bytes + prediction.kept_bytes;
  }
  for (const int32_t number : plan.plan_of_tile)
    prediction.seconds += plan.plans[static_cast<size_t>(number)].predicted_seconds;
  return prediction;
}

}  // namespace headroom
