#include "planner/cost/tile_classes.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/lowering/tiles.h"

namespace headroom::planner {
namespace {

/// The steps of a pass, each as if it made what its work is counted over.
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

template <typename RegionOf, typename LengthOf>
std::vector<TileClass> classes_along(const Graph& graph, const Pass& pass,
                                     const std::vector<Interval>& intervals, const RegionOf& region_of,
                                     const LengthOf& length_of, const Extent& latent) {
  const std::vector<Step> steps = measured_steps(pass);
  std::vector<TileClass> classes;
  TileClass tile;
  tile.lengths.resize(steps.size());
  for (const Interval& interval : intervals) {
    for (size_t i = 0; i < steps.size(); ++i) {
      tile.lengths[i] =
          length_of(steps[i], interval, tile_region(graph, pass, steps[i], region_of(interval), latent));
    }
    add(classes, tile);
  }
  return classes;
}

}  // namespace

std::vector<TileClass> row_classes(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes) {
  return classes_along(
      graph, pass, cut_rows(pass, length, sizes),
      [](const Interval& rows) {
        return Region{{0, 1}, rows, {0, 1}};
      },
      [](const Step&, const Interval&, const Region& region) { return region.y.length(); }, sizes.latent);
}

std::vector<TileClass> column_classes(const Graph& graph, const Pass& pass, int64_t length,
                                      const Extent& latent) {
  return classes_along(
      graph, pass, cut(latent.x * pass.scale.x, length),
      [](const Interval& columns) {
        return Region{{0, 1}, {0, 1}, columns};
      },
      [](const Step&, const Interval&, const Region& region) { return region.x.length(); }, latent);
}

std::vector<TileClass> chunk_classes(const Graph& graph, const Pass& pass, int64_t length,
                                     const Extent& latent) {
  std::vector<TileClass> classes;
  for (const Interval& chunk : cut(extent_at(pass.scale, latent).t, length)) {
    const auto frames = classes_along(
        graph, pass, {chunk},
        [](const Interval& grid) {
          return Region{grid, {0, 1}, {0, 1}};
        },
        [&](const Step& step, const Interval& grid, const Region& region) {
          if (carried_frames(step) == 0) return region.t.length();
          return fresh_frames(graph, pass, step, grid, latent).length();
        },
        latent);
    TileClass tile = frames.front();
    tile.first = chunk.begin == 0;
    add(classes, tile);
  }
  return classes;
}

}  // namespace headroom::planner
