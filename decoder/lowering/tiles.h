#pragma once

#include <vector>

#include "decoder/plan/plan.h"

// Where the tiles of a pass lie.
namespace headroom {

/// The image of a grid interval of rows or columns in a tensor of another scale: every position that the
/// interval touches.
Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale);

/// The region of the tile that a step makes for one tile of the grid.
Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent);
/// Its rows and its columns alone, of rows and columns of the grid.
Interval tile_rows(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_rows,
                   const Extent& latent);
Interval tile_columns(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_columns,
                      const Extent& latent);

/// The steps of a pass, each as if it made what its work is counted over: statistics have no positions.
std::vector<Step> measured_steps(const Pass& pass);

/// The frames of it that the step makes, in the chunk of these frames of the grid; the others come from the
/// tile of the chunk before. None where the step has run ahead to the clip's end.
Interval fresh_frames(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_frames,
                      const Extent& latent);

/// Earlier frames of a step's tile that come from the tile of the chunk before, copied, not computed again.
int64_t carried_frames(const Step& step);

/// True where the pass may be cut along the time: no step needs all frames at once.
bool takes_chunks(const Graph& graph, const Pass& pass);

/// The rows of it that the step makes, in the band of these rows of the grid: all but those that come from
/// the tile above (carried_rows()). None where the step has run ahead to the picture's end.
Interval fresh_rows(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_rows,
                    const Extent& latent);

/// Rows of a step's tile that come from the tile above, copied, not computed again: 0 but in a pass that
/// carries rows.
int64_t carried_rows(const Pass& pass, const Step& step);

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
