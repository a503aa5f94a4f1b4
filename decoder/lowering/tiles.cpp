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
  Interval own;  ///< image of the grid's interval
  int64_t before, after, pad, extent;
  bool first;    ///< the interval is the grid's first
  bool carried;  ///< the tile before hands positions on
};

TileAxis tile_axis(const Graph& graph, const Pass& pass, const Step& step, Axis axis, const Interval& grid,
                   const Extent& latent) {
  const Tensor& tensor = graph.tensor(step.tensor);
  const Extent extent = extent_of(tensor, latent);
  const int32_t scale = at(tensor.scale, axis), grid_scale = at(pass.scale, axis);
  return {axis == Axis::t ? frames_at_scale(grid, grid_scale, scale) : image(grid, scale, grid_scale),
          at(step.halo.before, axis),
          at(step.halo.after, axis),
          at(step.pad, axis),
          at(extent, axis),
          grid.begin == 0,
          carries(pass, axis)};
}

bool reads_kept(const Step& step) {
  return step.kind == StepKind::gather && step.inputs[0].step == -1;
}

/// As if the tile before handed positions on, even where the step reads them from what is kept.
Interval made_positions(const TileAxis& of) {
  const int64_t end = std::min(of.extent + of.pad, of.own.end + of.after);
  const bool handed_on = of.carried && !of.first;
  const int64_t begin = handed_on ? of.own.begin + of.after : std::max(-of.pad, of.own.begin - of.before);
  return {handed_on ? std::min(of.extent + of.pad, begin) : begin, end};
}

Interval tile_positions(const TileAxis& of) {
  Interval tile = made_positions(of);
  if (of.carried && !of.first) tile.begin = std::max(-of.pad, tile.begin - of.before);
  return tile;
}

}  // namespace

bool carries(const Pass& pass, Axis axis) {
  return axis == Axis::t || (axis == Axis::y && pass.carries_rows);
}

Axis carried_axis(const Pass& pass) {
  return pass.carries_rows ? Axis::y : Axis::t;
}

int64_t carried_positions(const Pass& pass, const Step& step) {
  return makes_tile(step) && !reads_kept(step) ? at(step.halo.before, carried_axis(pass)) : 0;
}

Interval tile_positions(const Graph& graph, const Pass& pass, const Step& step, Axis axis,
                        const Interval& grid, const Extent& latent) {
  return tile_positions(tile_axis(graph, pass, step, axis, grid, latent));
}

Interval fresh_positions(const Graph& graph, const Pass& pass, const Step& step, Axis axis,
                         const Interval& grid, const Extent& latent) {
  const TileAxis of = tile_axis(graph, pass, step, axis, grid, latent);
  return reads_kept(step) ? tile_positions(of) : made_positions(of);
}

Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent) {
  const auto along = [&](Axis axis) {
    return tile_positions(graph, pass, step, axis, at(grid_tile, axis), latent);
  };
  return {along(Axis::t), along(Axis::y), along(Axis::x)};
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
