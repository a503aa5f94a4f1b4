#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/lowering/tiles.h"

namespace headroom {

/// Tiles of a pass that are equally long along an axis in every step.
struct TileClass {
  /// By step: positions that it computes, and positions of its tile with carried ones. Statistics have those
  /// of the tensor that they measure.
  std::vector<int64_t> made, present;
  bool has_before = false;  ///< the tile before hands positions on
  int64_t count = 0;
  bool alike(const TileClass& other) const {
    return has_before == other.has_before && made == other.made && present == other.present;
  }
};

/// The tiles of a pass along one axis. Tiles at the edges of the picture differ from those between, where
/// halos are cut off; most passes have two or three classes along an axis.
struct TileClasses {
  std::vector<TileClass> classes;  ///< in the order of their first tiles
  std::vector<size_t> class_of;    ///< by tile
};

/// The tiles of a pass along one axis of its grid, which is cut into `tiles`.
TileClasses tile_classes(const Graph& graph, const Pass& pass, Axis axis, std::span<const Interval> tiles,
                         const Extent& latent);

}  // namespace headroom
