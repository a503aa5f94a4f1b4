#include "decoder/schedule/tiles.h"

#include <algorithm>
#include <numeric>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom {

Interval image(const Interval& grid, int32_t tensor_scale, int32_t grid_scale) {
  return {grid.begin * tensor_scale / grid_scale, (grid.end * tensor_scale + grid_scale - 1) / grid_scale};
}

namespace {

/// Positions that a step's tile carries if the pass carries along this axis. Gathers from a kept tensor carry
/// none: they read earlier positions from the blocks again.
int32_t carried_along(const Step& step, Axis axis) {
  const bool gathers_kept = step.kind == OpKind::gather && step.inputs[0].step == -1;
  return makes_tile(step) && !gathers_kept ? at(step.halo.before, axis) : 0;
}

}  // namespace

Interval TileAxis::image_of(const Interval& grid_interval) const {
  return is_time ? frames_at_scale(grid_interval, grid_scale, scale)
                 : image(grid_interval, scale, grid_scale);
}

Interval TileAxis::behind(const Interval& grid_tile) const {
  const Interval own = image_of(grid_tile);
  const int64_t end = extent + pad;
  return {std::min(end, own.begin + after), std::min(end, own.end + after)};
}

Interval TileAxis::present(const Interval& grid_tile) const {
  if (carries && grid_tile.begin > 0) {
    const Interval fresh = behind(grid_tile);
    return {std::max<int64_t>(-pad, fresh.begin - before), fresh.end};
  }
  const Interval own = image_of(grid_tile);
  return intersect({own.begin - before, own.end + after}, {-pad, extent + pad});
}

Interval TileAxis::made(const Interval& grid_tile) const {
  return carried > 0 && grid_tile.begin > 0 ? behind(grid_tile) : present(grid_tile);
}

int64_t carried_positions(const Pass& pass, const Step& step) {
  return carried_along(step, pass.carried_axis());
}

TileAxis tile_axis(const Graph& graph, const Pass& pass, const Step& step, TensorId tensor, Axis axis,
                   const Extent& latent) {
  const Axes<int32_t>& scale = graph.tensor(tensor).scale;
  const Extent grid = extent_at(pass.scale, latent), extent = extent_at(scale, latent);
  return {.grid = at(grid, axis),
          .extent = at(extent, axis),
          .grid_scale = at(pass.scale, axis),
          .scale = at(scale, axis),
          .before = at(step.halo.before, axis),
          .after = at(step.halo.after, axis),
          .pad = at(step.pad, axis),
          .is_time = axis == Axis::t,
          .carries = pass.carries(axis),
          .carried = pass.carries(axis) ? carried_along(step, axis) : 0};
}

Axes<TileAxis> tile_axes(const Graph& graph, const Pass& pass, const Step& step, TensorId tensor,
                         const Extent& latent) {
  const auto along = [&](Axis axis) { return tile_axis(graph, pass, step, tensor, axis, latent); };
  return {along(Axis::t), along(Axis::y), along(Axis::x)};
}

Region tile_region(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile,
                   const Extent& latent) {
  return per_axis([](const TileAxis& axis, const Interval& interval) { return axis.present(interval); },
                  tile_axes(graph, pass, step, step.tensor, latent), grid_tile);
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

int64_t first_band_rows(const Graph& graph, const Pass& pass, int64_t length, int64_t grid_rows) {
  if (!pass.carries(Axis::y) || length >= grid_rows) return std::min(length, grid_rows);
  const RowsAhead ahead = rows_ahead(graph, pass);
  return std::min(length, std::max(ahead.unit, length - ahead.rows));
}

bool can_carry_rows(const Graph& graph, const Pass& pass) {
  return std::all_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    if (step.edges == Edges::reflect || !operation(step.kind).can_carry_rows) return false;
    if (step.kind != OpKind::conv) return true;
    const Op& op = graph.op(step.op);
    return op.stride.y == 1 || edges_read(op) == Edges::zeros;
  });
}

bool takes_chunks(const Graph& graph, const Pass& pass) {
  return std::none_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return step.op != OpId{-1} && needs_all_frames(graph.op(step.op));
  });
}

std::vector<Interval> cut(int64_t length, int64_t tile) {
  std::vector<Interval> intervals;
  intervals.reserve(static_cast<size_t>(ceil_divide(length, tile)));
  for (int64_t begin = 0; begin < length; begin += tile)
    intervals.push_back({begin, std::min(length, begin + tile)});
  return intervals;
}

namespace {

/// The part of an axis in which no step's tile reaches an edge of the picture. Two tiles of equal length in
/// it belong to one class if they begin at the same offset within a position of the coarsest tensor.
struct InnerPart {
  Interval grid;
  int64_t unit = 1;  ///< grid positions in one position of the coarsest tensor
};

InnerPart inner_part(std::span<const TileAxis> steps) {
  int64_t reach = 0, unit = 1;
  for (const TileAxis& step : steps) {
    if (step.scale == 0) continue;
    const int64_t halo = std::max(step.before, step.after);
    reach = std::max(reach, ceil_divide(halo * step.grid_scale, step.scale));
    unit = std::lcm(unit, int64_t{step.grid_scale / std::gcd(step.grid_scale, step.scale)});
  }
  reach += unit;  // a tile can contain part of a coarsest position
  return {{reach, (steps.empty() ? 0 : steps.front().grid) - reach}, unit};
}

/// Returns the number of the tile's class. Adds the class if it is new.
size_t class_number(std::vector<TileClass>& classes, const TileClass& tile) {
  // Search from the end, since most tiles are like the previous one.
  for (size_t i = classes.size(); i-- > 0;) {
    if (classes[i].alike(tile)) return i;
  }
  classes.push_back(tile);
  return classes.size() - 1;
}

}  // namespace

std::vector<TileAxis> measured_axes(const Graph& graph, const Pass& pass, Axis axis, const Extent& latent) {
  std::vector<TileAxis> steps;
  steps.reserve(pass.steps.size());
  for (const Step& step : pass.steps)
    steps.push_back(tile_axis(graph, pass, step, measured_tensor(step), axis, latent));
  return steps;
}

TileClasses tile_classes(std::span<const TileAxis> steps, std::span<const Interval> tiles) {
  const InnerPart inner = inner_part(steps);
  struct Known {  // a tile in the inner part
    int64_t place, length;
    size_t number;
  };
  std::vector<Known> known;
  TileClass tile;
  tile.made.resize(steps.size());
  tile.present.resize(steps.size());
  TileClasses classes;
  classes.classes.reserve(4);  // few passes have more
  classes.class_of.reserve(tiles.size());
  for (const Interval& grid : tiles) {
    const bool is_inner = inner.grid.contains(grid);
    const int64_t place = grid.begin % inner.unit;
    const auto found = std::find_if(known.begin(), known.end(), [&](const Known& other) {
      return is_inner && other.place == place && other.length == grid.length();
    });
    size_t number = 0;
    if (found != known.end()) {
      number = found->number;
    } else {
      for (size_t i = 0; i < steps.size(); ++i) {
        tile.present[i] = steps[i].present(grid).length();
        tile.made[i] = steps[i].carried > 0 ? steps[i].made(grid).length() : tile.present[i];
      }
      tile.has_before = !steps.empty() && steps.front().carries && grid.begin > 0;
      number = class_number(classes.classes, tile);
      if (is_inner) known.push_back({place, grid.length(), number});
    }
    ++classes.classes[number].count;
    classes.class_of.push_back(number);
  }
  return classes;
}

}  // namespace headroom
