#include "decoder/recipe/kept_edges.h"

#include <algorithm>

namespace headroom {
namespace {

int64_t longest_span(const std::vector<RecipeTile>& tiles) {
  int64_t most = 0;
  for (size_t i = 0; i < tiles.size(); ++i) most = std::max(most, span_of(tiles, i));
  return most;
}

int64_t longest_fade(const std::vector<RecipeTile>& tiles) {
  int64_t most = 0;
  for (const RecipeTile& tile : tiles) most = std::max(most, tile.fade);
  return most;
}

int64_t longest_latent(const std::vector<RecipeTile>& tiles) {
  int64_t most = 0;
  for (const RecipeTile& tile : tiles) most = std::max(most, tile.latent.length());
  return most;
}

}  // namespace

KeptEdges kept_edges(const Recipe& recipe, int64_t items, int64_t channels) {
  const auto& [t, y, x] = recipe.tiles;
  const int64_t of_position = items * channels;
  const int64_t of_frames = of_position * longest_span(t);
  KeptEdges edges;
  for (size_t i = 0; i < x.size(); ++i) edges.above.push_back(of_frames * longest_fade(y) * span_of(x, i));
  edges.below = *std::max_element(edges.above.begin(), edges.above.end());
  edges.side = of_frames * longest_span(y) * longest_fade(x);
  edges.frames = of_position * longest_fade(t) * y.back().output.end * x.back().output.end;
  edges.row = channels * longest_span(x);
  return edges;
}

int64_t kept_bytes(const Recipe& recipe, const Model& model, int64_t items) {
  const KeptEdges edges = kept_edges(recipe, items, model.graph.tensor(model.graph.output()).channels);
  int64_t values = edges.below + 2 * edges.side + 2 * edges.frames + edges.row;
  for (int64_t above : edges.above) values += above;
  const auto& [t, y, x] = recipe.tiles;
  values += items * model.latent_channels * longest_latent(t) * longest_latent(y) * longest_latent(x);
  return values * static_cast<int64_t>(sizeof(float));
}

}  // namespace headroom
