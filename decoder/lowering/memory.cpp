#include "decoder/lowering/memory.h"

#include <algorithm>
#include <cmath>

#include "decoder/lowering/gpu_memory.h"
#include "decoder/lowering/lowering.h"

namespace headroom {
namespace {

constexpr int64_t kParameterAlignment = 64;
// The pool's units (decoder/cpu/pool.cpp).
constexpr int64_t kPage = 4096;
constexpr int64_t kSmallestPaged = 4 * kPage;
constexpr int64_t kSmallUnit = 64;

// Larger tensors have larger blocks: a plan's size and the time to check it do not grow with the picture.
constexpr int64_t kMostBlocks = 256;

int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Frames of the largest tile that a step makes, earlier ones included. Chunks but the last are equal; what
/// precedes them differs for the first few alone.
int64_t most_frames(const Step& step, int32_t scale, int32_t grid_scale, int64_t grid_frames, int64_t chunk) {
  constexpr int64_t kFirstFew = 4;
  int64_t most = 0;
  for (int64_t i = 0; i < kFirstFew && i * chunk < grid_frames; ++i) {
    const Interval frames =
        frames_at_scale({i * chunk, std::min(grid_frames, (i + 1) * chunk)}, grid_scale, scale);
    most = std::max(most, frames.end - std::max<int64_t>(0, frames.begin - step.halo.before.t));
  }
  return most;
}

/// What the tiles of a pass hand from one chunk of frames to the next.
int64_t carried_bytes(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes) {
  if (tile.t >= extent_at(pass.scale, sizes.latent).t) return 0;
  int64_t bytes = 0;
  for (const Step& step : pass.steps) {
    if (!makes_tile(step.kind) || carried_frames(step) == 0) continue;
    Extent extent = largest_tile(graph, pass, step, tile, sizes);
    extent.t = carried_frames(step);
    bytes += tile_bytes(graph, step.tensor, extent, sizes);
  }
  return bytes;
}

}  // namespace

int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model) {
  // What grows with the picture is there for one frame at a time.
  const Extent picture = extent_of(graph.tensor(graph.output()), sizes.latent);
  const int64_t pixels = picture.y * picture.x * sizes.items;
  return model.reserve_bytes + std::llround(model.reserve_bytes_per_pixel * double(pixels));
}

int64_t allocated_bytes(int64_t bytes, DeviceKind device) {
  const int64_t on_cpu = bytes < kSmallestPaged ? kSmallUnit : kPage;
  const int64_t unit = device == DeviceKind::cuda ? gpu::kOffsetUnit : on_cpu;
  return ceil_divide(bytes, unit) * unit;
}

int64_t tile_element_bytes(const Sizes& sizes) {
  return sizes.device == DeviceKind::cuda ? bytes_per_element(sizes.dtype) : int64_t{sizeof(float)};
}

int64_t tile_bytes(const Graph& graph, TensorId tensor, const Extent& extent, const Sizes& sizes) {
  const int64_t of_item = positions(extent) * graph.tensor(tensor).channels * tile_element_bytes(sizes);
  if (sizes.device == DeviceKind::cuda) return sizes.items * allocated_bytes(of_item, sizes.device);
  return allocated_bytes(sizes.items * of_item, sizes.device);
}

int64_t latent_bytes(const Graph& graph, const Sizes& sizes) {
  return sizes.items *
         allocated_bytes(bytes_of(graph.tensor(graph.latent()), sizes.latent, 1, Dtype::fp32), sizes.device);
}

int64_t device_state_bytes(const Graph& graph, const Sizes& sizes) {
  if (sizes.device == DeviceKind::cpu) return 0;
  return allocated_bytes(gpu::state_layout(graph, sizes).bytes, sizes.device);
}

std::vector<OpId> all_operations(const Graph& graph) {
  std::vector<OpId> operations;
  for (size_t i = 0; i < graph.ops().size(); ++i) operations.push_back(OpId{static_cast<int32_t>(i)});
  return operations;
}

std::vector<OpId> operations_of(const Pass& pass) {
  std::vector<OpId> operations;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1} && !contains(operations, step.op)) operations.push_back(step.op);
  }
  return operations;
}

int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm form, const Storage& storage) {
  if (storage.device == DeviceKind::cuda) return gpu::parameter_bytes(graph, op, storage.dtype);
  const auto aligned = [](int64_t floats) {
    return ceil_divide(floats * int64_t{sizeof(float)}, kParameterAlignment) * kParameterAlignment;
  };
  const int64_t channels = graph.tensor(op.output).channels;
  if (op.kind == OpKind::norm || op.kind == OpKind::rms_norm) return 2 * aligned(channels);
  if (op.kind != OpKind::conv) return 0;
  // A convolution without a bias has zeros there.
  const KernelShape kernel = kernel_shape(graph, op);
  return aligned(kernel.floats(algorithm_of(kernel, form))) + aligned(channels);
}

int64_t resident_weights_bytes(const Graph& graph, const Storage& storage) {
  int64_t sum = 0;
  for (const Op& op : graph.ops()) sum += weights_bytes(graph, op, ConvolutionAlgorithm::direct, storage);
  return sum;
}

int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, ConvolutionAlgorithm form,
                           WeightResidency residency, const Storage& storage) {
  int64_t sum = 0;
  for (OpId id : operations_of(pass)) {
    const Op& op = graph.op(id);
    if (residency == WeightResidency::per_pass) {
      sum += weights_bytes(graph, op, form, storage);
    } else if (form == ConvolutionAlgorithm::winograd && has_winograd(graph, id)) {
      sum += kernel_shape(graph, op).floats(form) * int64_t{sizeof(float)};
    }
  }
  return sum;
}

int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass) {
  const Storage storage = storage_of(plan.request);
  const bool resident = plan.weights == WeightResidency::resident;
  return (resident ? resident_weights_bytes(graph, storage) : 0) +
         pass_weights_bytes(graph, pass, pass.convolutions, plan.weights, storage);
}

int64_t block_rows(const Graph& graph, TensorId id, const Sizes& sizes, int64_t block_bytes) {
  const int64_t rows = extent_of(graph.tensor(id), sizes.latent).y;
  const int64_t blocks =
      std::clamp<int64_t>(rows * row_bytes(graph, id, sizes) / block_bytes, 1, std::min(rows, kMostBlocks));
  return ceil_divide(rows, blocks);
}

int64_t block_count(const Graph& graph, const Materialised& materialised, const Sizes& sizes) {
  return ceil_divide(extent_of(graph.tensor(materialised.tensor), sizes.latent).y, materialised.block_rows);
}

int64_t materialised_block_bytes(const Graph& graph, const Materialised& materialised, const Sizes& sizes) {
  return allocated_bytes(materialised.block_rows * row_bytes(graph, materialised.tensor, sizes),
                         sizes.device);
}

int64_t materialised_bytes(const Graph& graph, const Materialised& materialised, const Sizes& sizes) {
  return sizes.items * block_count(graph, materialised, sizes) *
         materialised_block_bytes(graph, materialised, sizes);
}

RowReaders::RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes)
    : grid_scale_(pass.scale.y), rows_(extent_of(graph.tensor(tensor), sizes.latent).y) {
  for (const Step& step : pass.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].tensor != tensor || step.inputs[i].step != -1) continue;
      if (makes_tile(step.kind) && step.op != OpId{-1}) {
        const Op& op = graph.op(step.op);
        readers_.push_back({graph.tensor(step.tensor).scale.y, step.halo.before.y, step.halo.after.y,
                            op.factor.y, reach(op, i).before.y, is_barrier(op, i)});
      } else {
        // Gathers, statistics and accumulations read the positions of their own tile.
        readers_.push_back(
            {graph.tensor(tensor).scale.y, step.halo.before.y, step.halo.after.y, 1, 0, false});
      }
    }
  }
}

int64_t RowReaders::first_row(int64_t grid_row) const {
  int64_t first = rows_;
  for (const Reader& reader : readers_) {
    const int64_t made = std::max<int64_t>(0, grid_row * reader.scale / grid_scale_ - reader.before);
    first = std::min(first, reader.all ? 0 : std::max<int64_t>(0, made / reader.factor - reader.reach));
  }
  return first;
}

int64_t RowReaders::last_row(int64_t grid_row) const {
  int64_t last = 0;
  for (const Reader& reader : readers_) {
    const int64_t made = ceil_divide(grid_row * reader.scale, grid_scale_) + reader.after;
    last = std::max(last, reader.all ? rows_ : ceil_divide(made, reader.factor) + reader.reach);
  }
  return std::min(last, rows_);
}

Interval blocks_acquired(const Graph& graph, const Pass& pass, const Materialised& materialised,
                         size_t band) {
  const Interval rows = image(pass.tiles.y[band], graph.tensor(materialised.tensor).scale.y, pass.scale.y);
  return {ceil_divide(rows.begin, materialised.block_rows), ceil_divide(rows.end, materialised.block_rows)};
}

Interval blocks_released(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                         int64_t block_count, size_t band) {
  const auto first_block = [&](size_t of_band) {
    return std::min(block_count, readers.first_row(pass.tiles.y[of_band].begin) / materialised.block_rows);
  };
  const int64_t from = band == 0 ? 0 : first_block(band);
  return {from, band + 1 == pass.tiles.y.size() ? block_count : first_block(band + 1)};
}

Interval blocks_completed(const Graph& graph, const Pass& pass, const Materialised& materialised,
                          size_t band) {
  const Interval rows = image(pass.tiles.y[band], graph.tensor(materialised.tensor).scale.y, pass.scale.y);
  const bool last = band + 1 == pass.tiles.y.size();
  return {rows.begin / materialised.block_rows,
          last ? ceil_divide(rows.end, materialised.block_rows) : rows.end / materialised.block_rows};
}

Interval blocks_read(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                     size_t band) {
  const Interval& tile = pass.tiles.y[band];
  return {readers.first_row(tile.begin) / materialised.block_rows,
          ceil_divide(readers.last_row(tile.end), materialised.block_rows)};
}

ScratchLayout scratch_layout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  ScratchLayout layout;
  for (const Materialised& materialised : plan.materialised) {
    if (materialised.tier != MemoryTier::scratch) continue;
    const int64_t bytes = materialised.block_rows * row_bytes(graph, materialised.tensor, sizes);
    layout.slot_bytes = std::max(layout.slot_bytes, ceil_divide(bytes, kPage) * kPage);
    for (int32_t number : materialised.blocks) layout.slots = std::max(layout.slots, int64_t{number} + 1);
  }
  return layout;
}

Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
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
      tile, tensor.scale, pass.scale, step.halo.before, step.halo.after, step.pad,
      extent_of(tensor, sizes.latent));
  largest.t = most_frames(step, tensor.scale.t, pass.scale.t, extent_at(pass.scale, sizes.latent).t, tile.t);
  return largest;
}

std::vector<int64_t> step_bytes(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes,
                                const MemoryModel& model) {
  const size_t count = pass.steps.size();
  std::vector<size_t> last_use(count, 0);
  for (size_t i = 0; i < count; ++i) {
    last_use[i] = i;
    for (const Operand& operand : pass.steps[i].inputs) {
      if (operand.step >= 0) last_use[static_cast<size_t>(operand.step)] = i;
    }
  }
  std::vector<int64_t> bytes(count, carried_bytes(graph, pass, tile, sizes));
  for (size_t i = 0; i < count; ++i) {
    const Step& step = pass.steps[i];
    if (!makes_tile(step.kind)) continue;
    const Extent extent = largest_tile(graph, pass, step, tile, sizes);
    if (model.workspace_bytes && step.op != OpId{-1}) {
      bytes[i] += model.workspace_bytes(graph.op(step.op), pass.convolutions, extent, sizes);
    }
    // An add takes its first operand's tile over: it is new only after the add itself.
    const bool takes_over = step.kind == StepKind::add && carried_frames(step) == 0;
    const size_t from = takes_over ? i + 1 : i;
    for (size_t k = from; k <= last_use[i]; ++k) bytes[k] += tile_bytes(graph, step.tensor, extent, sizes);
  }
  return bytes;
}

std::vector<Segment> segments_of(const Pass& pass, const std::vector<int64_t>& working_bytes) {
  std::vector<Segment> segments(1);
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    if (pass.steps[i].kind == StepKind::store) segments.push_back({0, pass.steps[i].tensor});
    segments.back().working_bytes = std::max(segments.back().working_bytes, working_bytes[i]);
  }
  return segments;
}

Extent last_band_tile(const Extent& tile, int64_t grid_rows) {
  const int64_t rest = grid_rows % tile.y;
  return {tile.t, std::min(grid_rows, rest == 0 ? tile.y : rest), tile.x};
}

std::vector<MaterialisedInPass> materialised_in(const Plan& plan, size_t pass) {
  const auto number = static_cast<int32_t>(pass);
  std::vector<MaterialisedInPass> list;
  for (const Materialised& entry : plan.materialised) {
    if (number < entry.first_pass || number > entry.last_pass) continue;
    const bool taken_over =
        std::any_of(plan.materialised.begin(), plan.materialised.end(),
                    [&](const Materialised& other) { return other.in_place_of == entry.tensor; });
    list.push_back({&entry, number == entry.first_pass, number == entry.last_pass && !taken_over});
  }
  return list;
}

int64_t pass_peak_bytes(const Graph& graph, const Pass& pass,
                        const std::vector<MaterialisedInPass>& materialised, const Extent& tile,
                        const Sizes& sizes, const MemoryModel& model) {
  const Extent last_tile = last_band_tile(tile, sizes.latent.y * pass.scale.y);
  const std::vector<Segment> full = segments_of(pass, step_bytes(graph, pass, tile, sizes, model));
  const std::vector<Segment> last = segments_of(pass, step_bytes(graph, pass, last_tile, sizes, model));
  int64_t steady = 0;
  std::vector<LiveBlocks> read, written;
  for (const MaterialisedInPass& entry : materialised) {
    const LiveBlocks blocks(graph, pass, entry, sizes);
    if (blocks.steady()) {
      steady += blocks.before_store(0);
    } else if (!entry.written) {
      read.push_back(blocks);
    }
  }
  for (const Segment& segment : full) {
    // What takes over another's blocks is not stored: the entry of the tensor that it replaces counts them.
    for (const MaterialisedInPass& entry : materialised) {
      if (entry.written && entry.materialised->tensor == segment.stored)
        written.emplace_back(graph, pass, entry, sizes);
    }
  }
  int64_t peak = steady;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    const std::vector<Segment>& segments = band + 1 == pass.tiles.y.size() ? last : full;
    int64_t live = steady, largest = 0;
    for (const LiveBlocks& blocks : read) live += blocks.before_store(band);
    for (const LiveBlocks& blocks : written) live += blocks.before_store(band);
    for (size_t i = 0; i < segments.size(); ++i) {
      if (i > 0) live += written[i - 1].after_store(band) - written[i - 1].before_store(band);
      largest = std::max(largest, segments[i].working_bytes);
      peak = std::max(peak, live + segments[i].working_bytes);
    }
    // The next tile or chunk of the band begins beside the blocks that the first one took.
    if (pass.tiles.x.size() * pass.tiles.t.size() > 1) peak = std::max(peak, live + largest);
  }
  return peak;
}

}  // namespace headroom
