#include "decoder/lowering/memory.h"

#include <algorithm>
#include <cmath>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/lifetimes.h"
#include "decoder/lowering/storage.h"
#include "decoder/lowering/tiles.h"

namespace headroom {
namespace {

/// Frames of the largest tile that a step makes, earlier ones included. Chunks but the last are equal; what
/// precedes them differs for the first few alone.
int64_t most_frames(const Graph& graph, const Pass& pass, const Step& step, int64_t chunk,
                    const Extent& latent) {
  constexpr int64_t kFirstFew = 4;
  const int64_t grid_frames = extent_at(pass.scale, latent).t;
  int64_t most = 0;
  for (int64_t i = 0; i < kFirstFew && i * chunk < grid_frames; ++i) {
    const Interval frames{i * chunk, std::min(grid_frames, (i + 1) * chunk)};
    most = std::max(most, tile_positions(graph, pass, step, Axis::t, frames, latent).length());
  }
  return most;
}

/// Rows of the largest tile that a step makes in a pass that carries rows, of its first band or of one
/// further down, which has rows of the band before.
int64_t most_rows(const Graph& graph, const Pass& pass, const Step& step, const BandTile& tile,
                  const Extent& latent) {
  const int64_t grid_rows = pass.scale.y * latent.y, band = tile.extent.y;
  if (tile.place == BandPlace::first || band >= grid_rows)
    return tile_positions(graph, pass, step, Axis::y, {0, std::min(band, grid_rows)}, latent).length();
  const int64_t scale = graph.tensor(step.tensor).scale.y, all = latent.y * scale + 2 * step.pad.y;
  const bool aligned = band * scale % pass.scale.y == 0;
  const int64_t fresh = ceil_divide(band * scale, pass.scale.y) + (aligned ? 0 : 1);
  return std::min(all, fresh + step.halo.before.y);
}

}  // namespace

int64_t picture_bytes(const Graph& graph, const Request& request) {
  if (!request.picture_dtype) return 0;
  // Exact for all real ones; those of hostile files do not overflow.
  constexpr double kMost = double(int64_t{1} << 60);
  const double bytes = double(request.batch) * double(request.frames) * double(request.height_pixels) *
                       double(request.width_pixels) * double(graph.tensor(graph.output()).channels) *
                       double(bytes_per_element(*request.picture_dtype));
  return static_cast<int64_t>(std::min(bytes, kMost));
}

int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model) {
  // What grows with the picture is there for one frame at a time.
  const Tensor& output = graph.tensor(graph.output());
  const int64_t pixels =
      own_rows(sizes, output.scale.y).length() * extent_of(output, sizes.latent).x * sizes.items;
  return model.reserve_bytes + std::llround(model.reserve_bytes_per_pixel * double(pixels));
}

Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const BandTile& tile,
                    const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(step.tensor);
  Extent largest = per_axis(
      [](int64_t grid, int32_t scale, int32_t grid_scale, int32_t before, int32_t after, int32_t pad,
         int64_t extent) {
        // Tiles of a coarser tensor whose boundaries fall inside a position touch one position more.
        const bool aligned = grid * scale % grid_scale == 0;
        const int64_t own = ceil_divide(grid * scale, grid_scale) + (aligned ? 0 : 1);
        return std::min<int64_t>(std::min(own, extent) + before + after, extent + 2 * pad);
      },
      tile.extent, tensor.scale, pass.scale, step.halo.before, step.halo.after, step.pad,
      extent_of(tensor, sizes.latent));
  largest.t = most_frames(graph, pass, step, tile.extent.t, sizes.latent);
  if (pass.carries_rows) largest.y = most_rows(graph, pass, step, tile, sizes.latent);
  return largest;
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

int64_t first_band_rows(const Graph& graph, const Pass& pass, int64_t length, int64_t grid_rows) {
  if (!pass.carries_rows || length >= grid_rows) return std::min(length, grid_rows);
  const RowsAhead ahead = rows_ahead(graph, pass);
  return std::min(length, std::max(ahead.unit, length - ahead.rows));
}

namespace {

/// Each tile of a band keeps rows of its own for the tile below it, all of a step in one allocation. Bands
/// are cut into these columns.
int64_t carried_rows_bytes(const Graph& graph, const Pass& pass, const Step& step,
                           const std::vector<Interval>& columns, const Sizes& sizes) {
  if (columns.empty() || carried_positions(pass, step) == 0) return 0;
  int64_t across = 0;
  for (const Interval& of_tile : columns)
    across += tile_positions(graph, pass, step, Axis::x, of_tile, sizes.latent).length();
  return tile_bytes(graph, step.tensor, {1, carried_positions(pass, step), across}, sizes);
}

/// The columns of tiles in bands that hand rows on; none where no band does.
std::vector<Interval> carried_columns(const Pass& pass, const Extent& tile, const Sizes& sizes) {
  if (!pass.carries_rows || tile.y >= pass.scale.y * sizes.latent.y) return {};
  return cut(sizes.latent.x * pass.scale.x, tile.x);
}

/// `columns` are those of carried_columns().
int64_t carried_bytes(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const std::vector<Interval>& columns, const Sizes& sizes) {
  if (pass.carries_rows) return carried_rows_bytes(graph, pass, step, columns, sizes);
  if (tile.t >= extent_at(pass.scale, sizes.latent).t) return 0;
  if (carried_positions(pass, step) == 0) return 0;
  Extent extent = largest_tile(graph, pass, step, tile, sizes);
  extent.t = carried_positions(pass, step);
  return tile_bytes(graph, step.tensor, extent, sizes);
}

}  // namespace

int64_t carried_bytes(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const Sizes& sizes) {
  return carried_bytes(graph, pass, step, tile, carried_columns(pass, tile, sizes), sizes);
}

std::vector<StepBytes> step_bytes(const Graph& graph, const Pass& pass, const BandTile& tile,
                                  const Sizes& sizes, const MemoryModel& model,
                                  const std::vector<TensorId>& staged) {
  const std::vector<Lifetime> lifetimes = tile_lifetimes(pass);
  std::vector<StepBytes> bytes(pass.steps.size());
  const std::vector<Interval> columns = carried_columns(pass, tile.extent, sizes);
  int64_t carried = 0;
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    if (!makes_tile(step.kind)) continue;
    const Extent extent = largest_tile(graph, pass, step, tile, sizes);
    if (model.workspace_bytes && step.op != OpId{-1})
      bytes[i].workspace =
          model.workspace_bytes(graph.op(step.op), pass.convolutions.of(step.op), extent, sizes);
    if (step.kind == StepKind::attention && contains(staged, step.inputs[1].tensor) &&
        model.attention_state_bytes)
      bytes[i].workspace += model.attention_state_bytes(graph.op(step.op), extent);
    if (!makes_tile(step)) continue;
    carried += carried_bytes(graph, pass, step, tile.extent, columns, sizes);
    const int64_t of_tile = tile_bytes(graph, step.tensor, extent, sizes);
    for (size_t k = lifetimes[i].begin; k < lifetimes[i].end; ++k) bytes[k].tiles += of_tile;
  }
  // From the first chunk to the last, whichever step runs.
  for (StepBytes& step : bytes) step.carried = carried;
  return bytes;
}

}  // namespace headroom
