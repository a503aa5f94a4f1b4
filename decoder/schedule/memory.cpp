#include "decoder/schedule/memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"

namespace headroom {

std::vector<size_t> last_uses(const Pass& pass) {
  std::vector<size_t> last(pass.steps.size());
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    for (const Operand& operand : pass.steps[i].inputs) {
      if (operand.step >= 0) last[static_cast<size_t>(operand.step)] = i;
    }
  }
  return last;
}

std::vector<Lifetime> tile_lifetimes(const Pass& pass) {
  const std::vector<size_t> last = last_uses(pass);
  std::vector<Lifetime> lifetimes(pass.steps.size());
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    if (makes_tile(pass.steps[i]))
      lifetimes[i] = {i + (takes_over(pass, pass.steps[i]) ? 1 : 0), last[i] + 1};
  }
  return lifetimes;
}

int64_t picture_bytes(const Graph& graph, const Request& request) {
  if (!request.picture_dtype) return 0;
  // Avoids overflow for hostile files; exact for all real values.
  constexpr double kMost = double(int64_t{1} << 60);
  const Tensor& output = graph.tensor(graph.output());
  const Extent extent = extent_of(output, latent_of(graph, request));
  const double bytes = double(request.batch) * double(extent.t) * double(extent.y) * double(extent.x) *
                       double(output.channels) * double(bytes_per_element(*request.picture_dtype));
  return static_cast<int64_t>(std::min(bytes, kMost));
}

int64_t temporary_bytes(const Graph& graph, const DeviceRecord& device) {
  if (device.temporary_bytes == 0) return 0;
  int64_t kernel_bytes = 0;
  for (const Op& op : graph.ops()) {
    kernel_bytes = std::max(
        kernel_bytes, gpu_storage().weights_bytes(graph, op, ConvolutionAlgorithm::direct, Dtype::fp32));
  }
  return device.temporary_bytes + kernel_bytes;
}

int64_t bytes_beside_reservation(const Graph& graph, const Request& request) {
  return picture_bytes(graph, request) + temporary_bytes(graph, device_record(request.device));
}

int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model) {
  // Memory that grows with the picture is allocated for one frame at a time.
  const Tensor& output = graph.tensor(graph.output());
  const int64_t pixels =
      own_rows(sizes, output.scale.y).length() * extent_of(output, sizes.latent).x * sizes.items;
  return model.reserve_bytes + std::llround(model.reserve_bytes_per_pixel * double(pixels));
}

namespace {

/// Positions of the longest tile for grid tiles of this length, except tiles at the start of the axis.
int64_t longest(const TileAxis& axis, int64_t grid_tile) {
  // If a tile boundary falls inside a position of a coarser tensor, the tile touches one position more.
  const bool aligned = grid_tile * axis.scale % axis.grid_scale == 0;
  const int64_t own = ceil_divide(grid_tile * axis.scale, axis.grid_scale) + (aligned ? 0 : 1);
  const int64_t all =
      axis.carries ? own + axis.before : std::min(own, axis.extent) + axis.before + axis.after;
  return std::min(all, axis.extent + 2 * axis.pad);
}

}  // namespace

Extent largest_tile(const Axes<TileAxis>& axes, const BandTile& tile) {
  Extent largest{0, 0, longest(axes.x, tile.extent.x)};
  // All chunks but the last have equal lengths. Only the first few differ in their earlier frames.
  constexpr int64_t kFirstFew = 4;
  const int64_t chunk = tile.extent.t, rows = std::min(axes.y.grid, tile.extent.y);
  for (int64_t i = 0; i < kFirstFew && i * chunk < axes.t.grid; ++i) {
    const Interval frames{i * chunk, std::min(axes.t.grid, (i + 1) * chunk)};
    largest.t = std::max(largest.t, axes.t.present(frames).length());
  }
  const bool is_first = tile.place == BandPlace::first || rows == axes.y.grid;
  largest.y =
      axes.y.carries && is_first ? axes.y.present({0, rows}).length() : longest(axes.y, tile.extent.y);
  return largest;
}

namespace {

/// carried_bytes() for a step that makes a tile.
int64_t carried_bytes(const Graph& graph, const Axes<TileAxis>& axes, TensorId tensor, const Extent& tile,
                      const Sizes& sizes) {
  Extent carried = {axes.t.carried, axes.y.carried, 0};
  if (axes.y.carries) {
    if (carried.y == 0 || tile.y >= axes.y.grid) return 0;
    // Each tile of a band keeps its own rows for the tile below. A step's rows for all tiles share one
    // allocation.
    carried.t = 1;
    for (int64_t begin = 0; begin < axes.x.grid; begin += tile.x)
      carried.x += axes.x.present({begin, std::min(axes.x.grid, begin + tile.x)}).length();
  } else {
    if (carried.t == 0 || tile.t >= axes.t.grid) return 0;
    carried = largest_tile(axes, tile);
    carried.t = axes.t.carried;
  }
  return tile_bytes(graph, tensor, carried, sizes);
}

}  // namespace

Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const BandTile& tile,
                    const Sizes& sizes) {
  return largest_tile(tile_axes(graph, pass, step, step.tensor, sizes.latent), tile);
}

int64_t carried_bytes(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const Sizes& sizes) {
  if (!makes_tile(step)) return 0;
  return carried_bytes(graph, tile_axes(graph, pass, step, step.tensor, sizes.latent), step.tensor, tile,
                       sizes);
}

Extent longest_tile(const Pass& pass) {
  return per_axis(
      [](const std::vector<Interval>& intervals) {
        int64_t longest = 0;
        for (const Interval& interval : intervals) longest = std::max(longest, interval.length());
        return longest;
      },
      pass.tiles);
}

std::vector<StepBytes> step_bytes(const Graph& graph, const Pass& pass, const BandTile& tile,
                                  const Sizes& sizes, const MemoryModel& model,
                                  const std::vector<TensorId>& staged) {
  const std::vector<Lifetime> lifetimes = tile_lifetimes(pass);
  std::vector<StepBytes> bytes(pass.steps.size());
  int64_t carried = 0;
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    if (!makes_tile(step.kind)) continue;
    const Axes<TileAxis> axes = tile_axes(graph, pass, step, step.tensor, sizes.latent);
    const Extent extent = largest_tile(axes, tile);
    if (model.workspace_bytes && step.op != OpId{-1})
      bytes[i].workspace =
          model.workspace_bytes(graph.op(step.op), pass.convolutions.of(step.op), extent, sizes);
    if (step.kind == OpKind::attention && contains(staged, step.inputs[1].tensor) &&
        model.attention_state_bytes)
      bytes[i].workspace += model.attention_state_bytes(graph.op(step.op), extent);
    if (!makes_tile(step)) continue;
    carried += carried_bytes(graph, axes, step.tensor, tile.extent, sizes);
    const int64_t of_tile = tile_bytes(graph, step.tensor, extent, sizes);
    for (size_t k = lifetimes[i].begin; k < lifetimes[i].end; ++k) bytes[k].tiles += of_tile;
  }
  // Carried positions are live throughout the pass, whichever step runs.
  for (StepBytes& step : bytes) step.carried = carried;
  return bytes;
}

namespace {

/// Time of a step without FLOPs (a copy), relative to the time of all steps with FLOPs.
constexpr double kCopyShare = 0.01;

}  // namespace

std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes) {
  std::vector<double> shares;
  double flops = 0;
  for (const Step& step : pass.steps) {
    const Extent extent = largest_tile(graph, pass, step, tile, sizes);
    shares.push_back(step.op == OpId{-1} ? 0
                                         : double(positions(extent)) *
                                               flops_per_position(graph, graph.op(step.op), sizes.latent));
    flops += shares.back();
  }
  double sum = 0;
  for (double& share : shares) {
    if (share <= 0) share = flops > 0 ? flops * kCopyShare : 1;
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace headroom
