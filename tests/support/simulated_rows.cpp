#include "tests/support/simulated_rows.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/tiles.h"

namespace headroom::test {
namespace {

bool reads_blocks_again(const Step& step) {
  return step.kind == OpKind::gather && step.inputs[0].step == -1;
}

bool is_tile(const Step& step) {
  return step.target == StepTarget::tile && step.kind != OpKind::statistics && step.kind != OpKind::store &&
         step.kind != OpKind::accumulate && step.kind != OpKind::emit;
}

/// Grid rows by which the first band is shorter. These are the rows that steps compute ahead, rounded up to
/// whole rows of the coarsest tensor.
int64_t ahead_of_bands(const Graph& graph, const Pass& pass) {
  int64_t ahead = 0, coarsest = 1;
  for (const Step& step : pass.steps) {
    const Tensor& tensor =
        graph.tensor(step.kind == OpKind::statistics ? step.inputs[0].tensor : step.tensor);
    while (ahead * tensor.scale.y < int64_t{step.halo.after.y} * pass.scale.y) ++ahead;
    while (coarsest * tensor.scale.y < pass.scale.y) ++coarsest;
  }
  while (ahead % coarsest != 0) ++ahead;
  return ahead;
}

}  // namespace

int64_t rows_left(const Pass& pass, const Step& step) {
  return pass.carries_rows && is_tile(step) && !reads_blocks_again(step) ? step.halo.before.y : 0;
}

SimulatedRows simulated_rows(const Graph& graph, const Pass& pass, const Step& step, size_t band,
                             const Sizes& sizes) {
  const Interval grid = pass.tiles.y[band];
  const Interval plain =
      tile_region(graph, pass, step, {pass.tiles.t[0], {0, grid.end}, pass.tiles.x[0]}, sizes.latent).y;
  if (!pass.carries_rows || !is_tile(step)) {
    const Interval rows =
        tile_region(graph, pass, step, {pass.tiles.t[0], grid, pass.tiles.x[0]}, sizes.latent).y;
    return {rows, rows};
  }
  if (band == 0) return {plain, plain};
  const int32_t scale = graph.tensor(step.tensor).scale.y;
  const int64_t own = grid.begin * scale / pass.scale.y;
  const int64_t begin = std::min(plain.end, own + step.halo.after.y);
  const Interval tile{std::max<int64_t>(-step.pad.y, begin - step.halo.before.y), plain.end};
  return {tile, reads_blocks_again(step) ? tile : Interval{begin, plain.end}};
}

std::vector<int64_t> heights_with_rows_carried(const Graph& graph, const Pass& pass,
                                               const std::vector<int64_t>& heights) {
  const bool spares = std::any_of(pass.steps.begin(), pass.steps.end(), [](const Step& step) {
    return step.kind == OpKind::conv && step.halo.after.y > 0;
  });
  std::vector<int64_t> list;
  const int64_t rows = *std::max_element(heights.begin(), heights.end());
  for (const int64_t height : heights) {
    if (spares && height < rows && height > ahead_of_bands(graph, pass)) list.push_back(height);
  }
  return list;
}

std::vector<Interval> bands_with_rows_carried(const Graph& graph, const Pass& pass, int64_t height,
                                              int64_t rows) {
  std::vector<Interval> bands{{0, height - ahead_of_bands(graph, pass)}};
  while (bands.back().end < rows)
    bands.push_back({bands.back().end, std::min(rows, bands.back().end + height)});
  return bands;
}

}  // namespace headroom::test
