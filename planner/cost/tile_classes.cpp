#include "planner/cost/tile_classes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/lowering/tiles.h"

namespace headroom::planner {
namespace {

/// Counts a tile, and returns the number of its class.
size_t add(std::vector<TileClass>& classes, const TileClass& tile) {
  // From the end: most tiles are like the one before.
  const auto alike = std::find_if(classes.rbegin(), classes.rend(),
                                  [&](const TileClass& known) { return known.alike(tile); });
  if (alike != classes.rend()) {
    ++alike->tiles;
    return static_cast<size_t>(classes.rend() - alike) - 1;
  }
  classes.push_back(tile);
  classes.back().tiles = 1;
  return classes.size() - 1;
}

/// The part of an axis whose tiles reach no edge of the picture in any step. Of equally long tiles there
/// those are alike that begin at the same place within a position of the coarsest tensor.
struct InnerPart {
  Interval grid;
  int64_t unit = 1;  ///< positions of the grid in one of the coarsest tensor
};

template <typename Along>
InnerPart inner_part(const Graph& graph, const Pass& pass, const Extent& latent, const Along& along) {
  const int64_t grid_scale = along(pass.scale);
  int64_t reach = 0, unit = 1;
  for (const Step& step : pass.steps) {
    const int64_t scale = along(graph.tensor(measured_tensor(step)).scale);
    if (scale == 0) continue;
    const int64_t halo = std::max(along(step.halo.before), along(step.halo.after));
    reach = std::max(reach, ceil_divide(halo * grid_scale, scale));
    unit = std::lcm(unit, grid_scale / std::gcd(grid_scale, scale));
  }
  reach += unit;  // of positions that a tile has in part
  return {{reach, along(latent) * grid_scale - reach}, unit};
}

template <typename LengthOf>
std::vector<TileClass> classes_along(const Pass& pass, const std::vector<Interval>& intervals,
                                     const InnerPart& inner, const LengthOf& length_of) {
  const std::vector<Step> steps = measured_steps(pass);
  std::vector<TileClass> classes;
  std::map<std::pair<int64_t, int64_t>, size_t> known;  // of the inner part, by place in a unit and length
  TileClass tile;
  tile.lengths.resize(steps.size());
  for (const Interval& interval : intervals) {
    const bool is_inner = interval.begin >= inner.grid.begin && interval.end <= inner.grid.end;
    const std::pair key(interval.begin % inner.unit, interval.length());
    if (const auto found = known.find(key); is_inner && found != known.end()) {
      ++classes[found->second].tiles;
      continue;
    }
    for (size_t i = 0; i < steps.size(); ++i) tile.lengths[i] = length_of(steps[i], interval);
    const size_t number = add(classes, tile);
    if (is_inner) known.emplace(key, number);
  }
  return classes;
}

}  // namespace

std::vector<TileClass> row_classes(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes) {
  const auto made = [&](const Step& step, const Interval& rows) {
    return fresh_positions(graph, pass, step, Axis::y, rows, sizes.latent).length();
  };
  std::vector<Interval> bands = cut_rows(graph, pass, length, sizes);
  const InnerPart inner = inner_part(graph, pass, sizes.latent, [](const auto& axes) { return axes.y; });
  if (!pass.carries_rows) return classes_along(pass, bands, inner, made);
  std::vector<TileClass> classes = classes_along(pass, {bands.front()}, inner, made);
  classes.front().first = true;
  bands.erase(bands.begin());
  for (TileClass& tile : classes_along(pass, bands, inner, made)) classes.push_back(std::move(tile));
  return classes;
}

std::vector<TileClass> column_classes(const Graph& graph, const Pass& pass, int64_t length,
                                      const Extent& latent) {
  const InnerPart inner = inner_part(graph, pass, latent, [](const auto& axes) { return axes.x; });
  return classes_along(pass, cut(latent.x * pass.scale.x, length), inner,
                       [&](const Step& step, const Interval& columns) {
                         return tile_positions(graph, pass, step, Axis::x, columns, latent).length();
                       });
}

std::vector<TileClass> chunk_classes(const Graph& graph, const Pass& pass, int64_t length,
                                     const Extent& latent) {
  std::vector<TileClass> classes;
  for (const Interval& chunk : cut(extent_at(pass.scale, latent).t, length)) {
    const auto frames = classes_along(pass, {chunk}, {}, [&](const Step& step, const Interval& grid) {
      return fresh_positions(graph, pass, step, Axis::t, grid, latent).length();
    });
    TileClass tile = frames.front();
    tile.first = chunk.begin == 0;
    add(classes, tile);
  }
  return classes;
}

}  // namespace headroom::planner
