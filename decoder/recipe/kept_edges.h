#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/recipe.h"

namespace headroom {

/// What is kept of tiles until later ones fade it out, in values, each allocated once and large enough for
/// all tiles. Of a tile that is being decoded and of the ones before it:
///
///     above: the lowest rows of the row of tiles before, one buffer to a column of tiles
///     below: the lowest rows of this tile, which become `above` when it is over
///     side: its last columns, and those of the tile to its left
///     frames: the whole picture's last frames of this clip and of the one before
///     row: one row of the tile while it is blended
struct KeptEdges {
  std::vector<int64_t> above;
  int64_t below = 0;
  int64_t side = 0;    ///< twice
  int64_t frames = 0;  ///< twice
  int64_t row = 0;
};
KeptEdges kept_edges(const Recipe& recipe, int64_t items, int64_t channels);

/// Bytes of all these, and of the latent that is cut out for a tile.
int64_t kept_bytes(const Recipe& recipe, const Model& model, int64_t items);

}  // namespace headroom
