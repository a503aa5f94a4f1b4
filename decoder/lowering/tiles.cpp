#include "decoder/lowering/tiles.h"

#include <algorithm>

#include "decoder/graph/geometry.h"

namespace headroom {

Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale) {
  return {grid.begin * tensor_scale / grid_scale, (grid.end * tensor_scale + grid_scale - 1) / grid_scale};
}

namespace {

/// What the tile of a step depends on along one axis.
struct TileAxis {
  int32_t scale, grid_scale;
  int32_t before, after;  ///< of its halo
  int32_t pad;
  int64_t latent;

  /// What the step's readers reach from the image of the grid's interval, as far as the picture and its
  /// padding go.
  Interval positions(const Interval& grid) const {
    const Interval own = image(grid, scale, grid_scale);
    return intersect({own.begin - before, own.end + after}, {-pad, latent * scale + pad});
  }
};

/// The rows of a step's tile behind those of the band before, below the first band of a pass that carries
/// rows.
Interval rows_behind(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_rows,
                     const Extent& latent) {
  const int32_t scale = graph.tensor(step.tensor).scale.y;
  const Interval own = image(grid_rows, scale, pass.scale.y);
  const int64_t ahead = step.halo.after.y, end = latent.y * scale + step.pad.y;
  return {std::min(end, own.begin + ahead), std::min(end, own.end + ahead)};
}

}  // namespace

Interval tile_rows(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_rows,
                   const Extent& latent) {
  if (pass.carries_rows && grid_rows.begin > 0) {
    const Interval behind = rows_behind(graph, pass, step, grid_rows, latent);
    return {std::max<int64_t>(-step.pad.y, behind.begin - step.halo.before.y), behind.end};
  }
  const int32_t scale = graph.tensor(step.tensor).scale.y;
  return TileAxis{scale, pass.scale.y, step.halo.before.y, step.halo.after.y, step.pad.y, latent.y}.positions(
      grid_rows);
}

Interval tile_columns(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_columns,
                      const Extent& latent) {
  const int32_t scale = graph.tensor(step.tensor).scale.x;
  return TileAxis{scale, pass.scale.x, step.halo.before.x, step.halo.after.x, step.pad.x, latent.x}.positions(
      grid_columns);
}

Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent) {
  Region region{fresh_frames(graph, pass, step, grid_tile.t, latent),
                tile_rows(graph, pass, step, grid_tile.y, latent),
                tile_columns(graph, pass, step, grid_tile.x, latent)};
  region.t.begin = std::max<int64_t>(0, region.t.begin - step.halo.before.t);
  return region;
}

std::vector<Step> measured_steps(const Pass& pass) {
  std::vector<Step> steps;
  for (const Step& step : pass.steps) {
    steps.push_back({.kind = step.kind, .op = step.op, .tensor = measured_tensor(step)});
    steps.back().inputs = step.inputs;
    steps.back().halo = step.halo;
    steps.back().pad = step.pad;
  }
  return steps;
}

Interval fresh_frames(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_frames,
                      const Extent& latent) {
  const Tensor& tensor = graph.tensor(step.tensor);
  const Interval own = frames_at_scale(grid_frames, pass.scale.t, tensor.scale.t);
  const int64_t ahead = step.halo.after.t, all = extent_of(tensor, latent).t;
  return {own.begin == 0 ? 0 : std::min(all, own.begin + ahead), std::min(all, own.end + ahead)};
}

int64_t carried_frames(const Step& step) {
  const bool reads_kept = step.kind == StepKind::gather && step.inputs[0].step == -1;
  return reads_kept ? 0 : step.halo.before.t;
}

Interval fresh_rows(const Graph& graph, const Pass& pass, const Step& step, const Interval& grid_rows,
                    const Extent& latent) {
  const bool has_earlier_rows = grid_rows.begin > 0 && carried_rows(pass, step) > 0;
  return (has_earlier_rows ? rows_behind : tile_rows)(graph, pass, step, grid_rows, latent);
}

int64_t carried_rows(const Pass& pass, const Step& step) {
  const bool reads_kept = step.kind == StepKind::gather && step.inputs[0].step == -1;
  return pass.carries_rows && makes_tile(step) && !reads_kept ? step.halo.before.y : 0;
}

RowsAhead rows_ahead(const Graph& graph, const Pass& pass) {
  int64_t most = 0, unit = 1;
  for (const Step& step : pass.steps) {
    const int64_t scale = graph.tensor(measured_tensor(step)).scale.y;
    if (scale == 0) continue;
    most = std::max(most, ceil_divide(step.halo.after.y * pass.scale.y, scale));
    unit = std::max(unit, pass.scale.y / scale);
  }
  return {ceil_divide(most, unit) * unit, unit};
}

bool can_carry_rows(const Pass& pass) {
  return std::all_of(pass.steps.begin(), pass.steps.end(), [](const Step& step) {
    if (step.edges == Edges::reflect) return false;
    switch (step.kind) {
      case StepKind::gather:
      case StepKind::norm:
      case StepKind::rms_norm:
      case StepKind::upsample:
      case StepKind::depth_to_space:
      case StepKind::conv:
      case StepKind::activate:
      case StepKind::add:
      case StepKind::accumulate:
      case StepKind::store:
      case StepKind::statistics:
      case StepKind::emit:
        return true;
      default:
        return false;
    }
  });
}

bool takes_chunks(const Graph& graph, const Pass& pass) {
  return std::none_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return step.op != OpId{-1} && needs_all_frames(graph.op(step.op));
  });
}

std::vector<Interval> cut(int64_t length, int64_t tile) {
  std::vector<Interval> intervals;
  for (int64_t begin = 0; begin < length; begin += tile)
    intervals.push_back({begin, std::min(length, begin + tile)});
  return intervals;
}

}  // namespace headroom
