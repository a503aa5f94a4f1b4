#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/schedule/tiles.h"

namespace headroom {

/// A class of tiles of a pass: along one axis they have equal lengths in every step.
struct TileClass {
  /// By step: positions that it computes, and positions of its tile including carried ones. For statistics,
  /// these are positions of their input.
  std::vector<int64_t> made, present;
  bool has_before = false;  ///< the tile carries positions from the previous tile
  int64_t count = 0;
  bool alike(const TileClass& other) const {
    return has_before == other.has_before && made == other.made && present == other.present;
  }
};

/// The tiles of a pass along one axis. Halos are clipped at the edges of the picture, so tiles there differ
/// from inner ones. Most passes have two or three classes along an axis.
struct TileClasses {
  std::vector<TileClass> classes;  ///< in the order of their first tiles
  std::vector<size_t> class_of;    ///< by tile
};

/// Classifies the tiles of a pass along one axis. `tiles` are the intervals of this axis of its grid.
TileClasses tile_classes(const Graph& graph, const Pass& pass, Axis axis, std::span<const Interval> tiles,
                         const Extent& latent);

}  // namespace headroom
