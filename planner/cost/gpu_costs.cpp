#include "planner/cost/gpu_costs.h"

#include <algorithm>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/build_plan.h"

namespace headroom::planner {
namespace {

/// Calls `at(cost of a tile, number of such tiles)` for each kind of tile in a pass.
template <typename At>
void for_each_kind(TileChain& chain, const TileClasses& chunks, const TileClasses& rows,
                   const TileClasses& columns, const At& at) {
  for (const TileClass& chunk : chunks.classes) {
    for (const TileClass& row : rows.classes) {
      for (const TileClass& column : columns.classes)
        at(chain.cost(chunk, row, column), chunk.count * row.count * column.count);
    }
  }
}

}  // namespace

GpuCosts::GpuCosts(const Graph& graph, std::shared_ptr<const LatencyLookup> measured, Dtype dtype)
    : graph_(&graph), times_{{}, std::move(measured)} {
  times_.card.dram_bytes_per_second = times_.measured->copied_bytes_per_second(dtype);
  // Measured times include the gaps between kernels and between passes.
  times_.card.launch_seconds = times_.card.kernel_seconds = times_.card.pass_seconds = 0;
}

std::vector<double> GpuCosts::shape_seconds(const Pass& pass, int64_t frames,
                                            const std::vector<int64_t>& heights,
                                            const std::vector<int64_t>& widths, const Sizes& sizes) const {
  TileChain chain(*graph_, pass, times_, sizes);
  const Extent grid = extent_at(pass.scale, sizes.latent);
  const TileClasses chunks = tile_classes(*graph_, pass, Axis::t, cut(grid.t, frames), sizes.latent);
  std::vector<TileClasses> columns;
  columns.reserve(widths.size());
  for (int64_t width : widths)
    columns.push_back(tile_classes(*graph_, pass, Axis::x, cut(grid.x, width), sizes.latent));
  std::vector<double> seconds;
  for (int64_t height : heights) {
    const TileClasses rows =
        tile_classes(*graph_, pass, Axis::y, cut_rows(*graph_, pass, height, sizes), sizes.latent);
    for (const TileClasses& across : columns) {
      double on_card = 0, launched = 0;
      for_each_kind(chain, chunks, rows, across, [&](const TileChain::Cost& tile, int64_t tiles) {
        on_card += tile.seconds * double(tiles);
        launched += double(tile.kernels * tiles) * times_.card.launch_seconds;
      });
      // A pass without steps does not run.
      seconds.push_back(pass.steps.empty() ? 0 : std::max(on_card, launched) + times_.card.pass_seconds);
    }
  }
  return seconds;
}

double GpuCosts::pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  return shape_seconds(pass, tile.t, {tile.y}, {tile.x}, sizes).front();
}

std::vector<double> GpuCosts::step_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  TileChain chain(*graph_, pass, times_, sizes);
  std::vector<double> seconds(pass.steps.size(), 0);
  const Axes<std::vector<Interval>> tiles = cut_grid(*graph_, pass, tile, sizes);
  const TileClasses chunks = tile_classes(*graph_, pass, Axis::t, tiles.t, sizes.latent);
  const TileClasses rows = tile_classes(*graph_, pass, Axis::y, tiles.y, sizes.latent);
  const TileClasses columns = tile_classes(*graph_, pass, Axis::x, tiles.x, sizes.latent);
  for_each_kind(chain, chunks, rows, columns, [&](const TileChain::Cost&, int64_t alike) {
    for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += chain.step_seconds()[i] * double(alike);
  });
  return seconds;
}

double GpuCosts::least_seconds(OpId id, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  // A convolution may hide the add of a residual behind its multiply-adds.
  if (op.kind == OpKind::add && fusion_on(sizes).residuals) return 0;
  Step step{.kind = op.kind, .op = id, .tensor = op.output};
  for (TensorId input : op.inputs) step.inputs.push_back({input, -1});
  return least_step_seconds(*graph_, step, times_.card, sizes);
}

double GpuCosts::least_store_seconds(TensorId id, const Sizes& sizes) const {
  return least_step_seconds(*graph_, {.kind = OpKind::store, .tensor = id, .inputs = {{id, -1}}}, times_.card,
                            sizes);
}

double GpuCosts::copies_seconds(std::span<const int64_t> copied_bytes) const {
  double seconds = 0;
  for (const int64_t bytes : copied_bytes) {
    const double copying = 2 * double(bytes) / times_.card.dram_bytes_per_second;
    seconds += std::max(times_.card.kernel_seconds + copying, times_.card.launch_seconds);
  }
  return seconds;
}

}  // namespace headroom::planner
