#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/plan/plan.h"

// Positions of a pass's tiles.
namespace headroom {

/// The image of a grid interval of rows or columns in a tensor of another scale: every position that the
/// interval touches.
Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale);

// Along an axis that a pass carries, a step makes each position once, tile after tile. It runs ahead of the
// grid's tiles by its `halo.after`, and its tile begins with `halo.before` positions that it copies from
// the tile before it: these are carried. Here a convolution of 3 reads the step, so its halo is 2+1:
// `before` counts from the first position that is new. Grid tiles of 4:
//
//     grid tile      |0  1  2  3 |4  5  6  7 |8  9 10 11 |
//     made           |0  1  2  3  4|5  6  7  8|9 10 11|          TileAxis::made()
//     tile                    |3  4  5  6  7  8|7  8  9 10 11|   TileAxis::present()
//     carried                  <3  4>      <7  8>
//
// Along the other axes a tile has its own image and its whole halo, and neighbours make it twice.

/// The positions along Pass::carried_axis() that a step's tile has from the tile before it.
int64_t carried_positions(const Pass& pass, const Step& step);

/// One axis of the tiles that a step makes. It maps an interval of the pass's grid to positions of the
/// tensor.
struct TileAxis {
  int64_t grid = 0;    ///< positions of the pass's grid
  int64_t extent = 0;  ///< positions of the step's tensor
  int32_t grid_scale = 1, scale = 1;
  int32_t before = 0, after = 0;  ///< from the step's halo
  int32_t pad = 0;
  bool is_time = false;
  bool carries = false;  ///< Pass::carries()
  int64_t carried = 0;   ///< positions that a tile copies from the tile before it

  /// The positions of the step's tile, including carried ones, clipped to the picture and its padding.
  Interval present(const Interval& grid_tile) const;
  /// The positions that the step computes, without carried ones. Empty once the step has run ahead to the end
  /// of the axis.
  Interval made(const Interval& grid_tile) const;
  /// The positions that the grid's interval touches, without a halo.
  Interval image_of(const Interval& grid_interval) const;

 private:
  /// The positions after the previous tile's, if tiles carry positions.
  Interval behind(const Interval& grid_tile) const;
};
/// `tensor` is the tensor that the step makes, or its measured_tensor().
TileAxis tile_axis(const Graph& graph, const Pass& pass, const Step& step, TensorId tensor, Axis axis,
                   const Extent& latent);
Axes<TileAxis> tile_axes(const Graph& graph, const Pass& pass, const Step& step, TensorId tensor,
                         const Extent& latent);

/// The region of the tile that a step makes for one tile of the grid.
Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent);

/// True if the pass may be cut along the time, because no step needs all frames at once.
bool takes_chunks(const Graph& graph, const Pass& pass);

/// Largest number of grid rows by which a pass that carries rows runs ahead of its bands.
struct RowsAhead {
  int64_t rows = 0;  ///< a multiple of `unit`
  int64_t unit = 1;  ///< grid rows in one row of the coarsest tensor
};
RowsAhead rows_ahead(const Graph& graph, const Pass& pass);
/// Height of the first band if tiles are `length` high. A pass that carries rows runs ahead, so its first
/// band is shorter by this much. Its tiles are then no higher than the others. The height is at least one row
/// of the coarsest tensor.
int64_t first_band_rows(const Graph& graph, const Pass& pass, int64_t length, int64_t grid_rows);

/// True if a pass can carry rows: each step can make a row of its tile without the rows above it. Mirrored
/// padding at the picture's edges makes this impossible. Padding that repeats rows below the picture needs a
/// row of the picture in the same tile. The last tile that a strided convolution reads may have none, because
/// it carries few rows. So a strided convolution must read zeros there.
bool can_carry_rows(const Graph& graph, const Pass& pass);

/// Cuts [0, length) into intervals of `tile`, the last one shorter.
std::vector<Interval> cut(int64_t length, int64_t tile);

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

/// By step of the pass: this axis of the tensor that measures the step.
std::vector<TileAxis> measured_axes(const Graph& graph, const Pass& pass, Axis axis, const Extent& latent);

/// Classifies the tiles of a pass along one axis. `tiles` are the intervals of this axis of its grid, `steps`
/// its measured_axes().
TileClasses tile_classes(std::span<const TileAxis> steps, std::span<const Interval> tiles);

}  // namespace headroom
