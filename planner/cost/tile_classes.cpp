#include "planner/cost/tile_classes.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/lowering/tiles.h"

namespace headroom::planner {
namespace {

void add(std::vector<TileClass>& classes, const TileClass& tile) {
  // From the end: most tiles are like the one before.
  const auto alike = std::find_if(classes.rbegin(), classes.rend(),
                                  [&](const TileClass& known) { return known.alike(tile); });
  if (alike == classes.rend()) {
    classes.push_back(tile);
    classes.back().tiles = 1;
  } else {
    ++alike->tiles;
  }
}

template <typename LengthOf>
std::vector<TileClass> classes_along(const Pass& pass, const std::vector<Interval>& intervals,
                                     const LengthOf& length_of) {
  const std::vector<Step> steps = measured_steps(pass);
  std::vector<TileClass> classes;
  TileClass tile;
  tile.lengths.resize(steps.size());
  for (const Interval& interval : intervals) {
    for (size_t i = 0; i < steps.size(); ++i) tile.lengths[i] = length_of(steps[i], interval);
    add(classes, tile);
  }
  return classes;
}

}  // namespace

std::vector<TileClass> row_classes(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes) {
  const auto made = [&](const Step& step, const Interval& rows) {
    return fresh_rows(graph, pass, step, rows, sizes.latent).length();
  };
  std::vector<Interval> bands = cut_rows(graph, pass, length, sizes);
  if (!pass.carries_rows) return classes_along(pass, bands, made);
  std::vector<TileClass> classes = classes_along(pass, {bands.front()}, made);
  classes.front().first = true;
  bands.erase(bands.begin());
  for (TileClass& tile : classes_along(pass, bands, made)) classes.push_back(std::move(tile));
  return classes;
}

std::vector<TileClass> column_classes(const Graph& graph, const Pass& pass, int64_t length,
                                      const Extent& latent) {
  return classes_along(pass, cut(latent.x * pass.scale.x, length),
                       [&](const Step& step, const Interval& columns) {
                         return tile_columns(graph, pass, step, columns, latent).length();
                       });
}

std::vector<TileClass> chunk_classes(const Graph& graph, const Pass& pass, int64_t length,
                                     const Extent& latent) {
  std::vector<TileClass> classes;
  for (const Interval& chunk : cut(extent_at(pass.scale, latent).t, length)) {
    const auto frames = classes_along(pass, {chunk}, [&](const Step& step, const Interval& grid) {
      if (carried_frames(step) == 0)
        return tile_region(graph, pass, step, {grid, {0, 1}, {0, 1}}, latent).t.length();
      return fresh_frames(graph, pass, step, grid, latent).length();
    });
    TileClass tile = frames.front();
    tile.first = chunk.begin == 0;
    add(classes, tile);
  }
  return classes;
}

}  // namespace headroom::planner
