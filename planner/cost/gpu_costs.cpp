#include "planner/cost/gpu_costs.h"

#include <algorithm>
#include <utility>

#include "decoder/lowering/lowering.h"

namespace headroom::planner {
namespace {

/// Calls `at(cost of a tile, how many are like it)` for each kind of tile that a pass has.
template <typename At>
void for_each_kind(TileChain& chain, const std::vector<TileClass>& chunks, const std::vector<TileClass>& rows,
                   const std::vector<TileClass>& columns, const At& at) {
  for (const TileClass& chunk : chunks) {
    for (const TileClass& row : rows) {
      for (const TileClass& column : columns)
        at(chain.cost(chunk, row, column), chunk.tiles * row.tiles * column.tiles);
    }
  }
}

}  // namespace

GpuCosts::GpuCosts(const Graph& graph, std::shared_ptr<const LatencyLookup> measured, Dtype dtype)
    : graph_(&graph), times_{{}, std::move(measured)} {
  times_.card.dram_bytes_per_second = times_.measured->copied_bytes_per_second(dtype);
  // What lies between kernels and between passes was measured with them.
  times_.card.launch_seconds = times_.card.kernel_seconds = times_.card.pass_seconds = 0;
}

std::vector<double> GpuCosts::shape_seconds(const Pass& pass, int64_t frames,
                                            const std::vector<int64_t>& heights,
                                            const std::vector<int64_t>& widths, const Sizes& sizes) const {
  TileChain chain(*graph_, pass, times_, sizes);
  const std::vector<TileClass> chunks = chunk_classes(*graph_, pass, frames, sizes.latent);
  std::vector<std::vector<TileClass>> columns;
  columns.reserve(widths.size());
  for (int64_t width : widths) columns.push_back(column_classes(*graph_, pass, width, sizes.latent));
  std::vector<double> seconds;
  for (int64_t height : heights) {
    const std::vector<TileClass> rows = row_classes(*graph_, pass, height, sizes);
    for (const std::vector<TileClass>& across : columns) {
      double on_card = 0, launched = 0;
      for_each_kind(chain, chunks, rows, across, [&](const TileChain::Cost& tile, int64_t tiles) {
        on_card += tile.seconds * double(tiles);
        launched += double(tile.kernels * tiles) * times_.card.launch_seconds;
      });
      // A pass that need not run has no steps.
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
  for_each_kind(
      chain, chunk_classes(*graph_, pass, tile.t, sizes.latent), row_classes(*graph_, pass, tile.y, sizes),
      column_classes(*graph_, pass, tile.x, sizes.latent), [&](const TileChain::Cost&, int64_t tiles) {
        for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += chain.step_seconds()[i] * double(tiles);
      });
  return seconds;
}

double GpuCosts::least_seconds(OpId id, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  // What a convolution adds on its way may hide behind its products.
  if (op.kind == OpKind::add && fusion_on(sizes).residuals) return 0;
  Step step{.kind = traits_of(op.kind).step, .op = id, .tensor = op.output};
  for (TensorId input : op.inputs) step.inputs.push_back({input, -1});
  return least_step_seconds(*graph_, step, times_.card, sizes);
}

double GpuCosts::least_store_seconds(TensorId id, const Sizes& sizes) const {
  return least_step_seconds(*graph_, {.kind = StepKind::store, .tensor = id, .inputs = {{id, -1}}},
                            times_.card, sizes);
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
