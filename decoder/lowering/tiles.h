#pragma once

#include <vector>

#include "decoder/plan/plan.h"

// Where the tiles of a pass lie.
namespace headroom {

/// The image of a grid interval of rows or columns in a tensor of another scale: every position that the
/// interval touches.
Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale);

// Along an axis that a pass carries, a step makes each position once, tile after tile. It runs ahead of the
// grid's tiles by its `halo.after`, and its tile begins with `halo.before` positions that the tile before it
// has handed on. A convolution of 3 with halo 2+1, tiles of 4:
//
//     grid tile       |0  1  2  3 |4  5  6  7 |8  9 10 11 |
//     made            |0  1  2  3  4|5  6  7  8|9 10 11|       fresh_positions()
//     tile                     |3  4  5  6  7  8|7  8  9 10 11|     tile_positions()
//     handed on                 <3  4>      <7  8>
//
// Along the other axes a tile has its own image and its whole halo, and neighbours make it twice.

/// Whether tiles of the pass hand positions on along this axis: along the time always, from chunk to chunk,
/// and along rows in a pass that carries them.
bool carries(const Pass& pass, Axis axis);
/// The axis along which tiles of the pass are handed something: rows in a pass that carries them, whose
/// chunks have all frames, and else the time.
Axis carried_axis(const Pass& pass);
/// So many positions along that axis a step's tile has from the tile before it.
int64_t carried_positions(const Pass& pass, const Step& step);

/// The positions of a step's tile along an axis, of an interval of the grid.
Interval tile_positions(const Graph& graph, const Pass& pass, const Step& step, Axis axis,
                        const Interval& grid, const Extent& latent);
/// Those of them that are not handed on: along a carried axis none where the step has run ahead to the end.
Interval fresh_positions(const Graph& graph, const Pass& pass, const Step& step, Axis axis,
                         const Interval& grid, const Extent& latent);
/// The region of the tile that a step makes for one tile of the grid.
Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent);

/// The steps of a pass, each as if it made what its work is counted over: statistics have no positions.
std::vector<Step> measured_steps(const Pass& pass);

/// True where the pass may be cut along the time: no step needs all frames at once.
bool takes_chunks(const Graph& graph, const Pass& pass);

/// Rows of the grid by which a pass that carries rows runs ahead of its bands, at the most.
struct RowsAhead {
  int64_t rows = 0;  ///< whole positions of the coarsest tensor
  int64_t unit = 1;  ///< one of these
};
RowsAhead rows_ahead(const Graph& graph, const Pass& pass);

/// True where a pass can carry rows: each of its steps makes a row of its tile without those above. What is
/// mirrored at the picture's edge it could not.
bool can_carry_rows(const Pass& pass);

/// Cuts [0, length) into intervals of `tile`, the last one shorter.
std::vector<Interval> cut(int64_t length, int64_t tile);

}  // namespace headroom
