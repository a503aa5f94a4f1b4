#include "decoder/plan/memory.h"

#include <algorithm>

#include "decoder/plan/lowering.h"

namespace headroom {
namespace {

constexpr int64_t kParameterAlignment = 64;
// The pool's units (decoder/runtime/pool.cpp).
constexpr int64_t kPage = 4096;
constexpr int64_t kSmallestPaged = 4 * kPage;
constexpr int64_t kSmallUnit = 64;

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool makes_tile(const Step& step) {
  return step.kind != StepKind::statistics && step.kind != StepKind::store && step.kind != StepKind::accumulate &&
         step.kind != StepKind::emit;
}

int64_t tile_bytes(const Graph& graph, const Step& step, const Extent& extent, const Sizes& sizes) {
  return allocated_bytes(sizes.items * positions(extent) * graph.tensor(step.tensor).channels *
                         bytes_per_element(sizes.dtype));
}

int64_t weights_bytes(const Graph& graph, const Op& op, Dtype dtype) {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_of(graph, op)) {
    int64_t bytes = bytes_per_element(dtype);
    for (int64_t length : parameter.shape) bytes *= length;
    sum += ceil_divide(bytes, kParameterAlignment) * kParameterAlignment;
  }
  return sum;
}

}  // namespace

Sizes sizes_of(const Graph& graph, const Plan& plan) {
  const Axes<int32_t> scale = graph.tensor(graph.output()).scale;
  return {{plan.request.frames, plan.request.height_pixels / scale.y, plan.request.width_pixels / scale.x},
          plan.slice,
          plan.request.dtype};
}

int64_t allocated_bytes(int64_t bytes) {
  const int64_t unit = bytes < kSmallestPaged ? kSmallUnit : kPage;
  return ceil_divide(bytes, unit) * unit;
}

int64_t latent_bytes(const Graph& graph, const Sizes& sizes) {
  return sizes.items * allocated_bytes(bytes_of(graph.tensor(graph.latent()), sizes.latent, 1, sizes.dtype));
}

int64_t weights_bytes(const Graph& graph, Dtype dtype) {
  int64_t sum = 0;
  for (const Op& op : graph.ops()) sum += weights_bytes(graph, op, dtype);
  return sum;
}

int64_t weights_bytes(const Graph& graph, const Pass& pass, Dtype dtype) {
  int64_t sum = 0;
  for (const Step& step : pass.steps) {
    // A norm's parameters are read with its step; statistics have none.
    if (step.op != OpId{-1}) sum += weights_bytes(graph, graph.op(step.op), dtype);
  }
  return sum;
}

int64_t row_bytes(const Graph& graph, TensorId id, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(id);
  const Extent extent = extent_of(tensor, sizes.latent);
  return extent.t * extent.x * tensor.channels * bytes_per_element(sizes.dtype);
}

int64_t block_rows(const Graph& graph, TensorId id, const Sizes& sizes, int64_t block_bytes) {
  const int64_t rows = extent_of(graph.tensor(id), sizes.latent).y;
  const int64_t blocks = std::clamp<int64_t>(rows * row_bytes(graph, id, sizes) / block_bytes, 1, rows);
  return ceil_divide(rows, blocks);
}

int64_t block_count(const Graph& graph, const Kept& kept, const Sizes& sizes) {
  return ceil_divide(extent_of(graph.tensor(kept.tensor), sizes.latent).y, kept.block_rows);
}

RowReaders::RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes)
    : grid_scale_(pass.scale.y), rows_(extent_of(graph.tensor(tensor), sizes.latent).y) {
  for (const Step& step : pass.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].tensor != tensor || step.inputs[i].step != -1) continue;
      const bool computes = step.kind == StepKind::norm || step.kind == StepKind::upsample ||
                            step.kind == StepKind::add || step.kind == StepKind::attention;
      if (computes) {
        const Op& op = graph.op(step.op);
        readers_.push_back({graph.tensor(step.tensor).scale.y, step.halo.before.y, step.halo.after.y, op.factor.y,
                            reach(op, i).before.y, is_barrier(op, i)});
      } else {
        // Gathers, statistics and accumulations read the positions of their own tile.
        readers_.push_back({graph.tensor(tensor).scale.y, step.halo.before.y, step.halo.after.y, 1, 0, false});
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

Interval blocks_acquired(const Graph& graph, const Pass& pass, const Kept& kept, size_t band) {
  const Interval rows = image(pass.tiles.y[band], graph.tensor(kept.tensor).scale.y, pass.scale.y);
  return {ceil_divide(rows.begin, kept.block_rows), ceil_divide(rows.end, kept.block_rows)};
}

Interval blocks_released(const RowReaders& readers, const Pass& pass, const Kept& kept, int64_t block_count, size_t band) {
  const auto first_block = [&](size_t of_band) {
    return std::min(block_count, readers.first_row(pass.tiles.y[of_band].begin) / kept.block_rows);
  };
  const int64_t from = band == 0 ? 0 : first_block(band);
  return {from, band + 1 == pass.tiles.y.size() ? block_count : first_block(band + 1)};
}

Interval blocks_completed(const Graph& graph, const Pass& pass, const Kept& kept, size_t band) {
  const Interval rows = image(pass.tiles.y[band], graph.tensor(kept.tensor).scale.y, pass.scale.y);
  const bool last = band + 1 == pass.tiles.y.size();
  return {rows.begin / kept.block_rows, last ? ceil_divide(rows.end, kept.block_rows) : rows.end / kept.block_rows};
}

Interval blocks_read(const RowReaders& readers, const Pass& pass, const Kept& kept, size_t band) {
  const Interval& tile = pass.tiles.y[band];
  return {readers.first_row(tile.begin) / kept.block_rows, ceil_divide(readers.last_row(tile.end), kept.block_rows)};
}

Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(step.tensor);
  return per_axis(
      [](int64_t grid, int32_t scale, int32_t grid_scale, int32_t before, int32_t after, int32_t pad, int64_t extent) {
        // Tiles of a coarser tensor whose boundaries fall inside a position touch one position more.
        const bool aligned = grid * scale % grid_scale == 0;
        const int64_t own = ceil_divide(grid * scale, grid_scale) + (aligned ? 0 : 1);
        return std::min<int64_t>(std::min(own, extent) + before + after, extent + 2 * pad);
      },
      tile, tensor.scale, pass.scale, step.halo.before, step.halo.after, step.pad, extent_of(tensor, sizes.latent));
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
  std::vector<int64_t> bytes(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const Step& step = pass.steps[i];
    if (!makes_tile(step)) continue;
    const Extent extent = largest_tile(graph, pass, step, tile, sizes);
    if (model.workspace_bytes && step.op != OpId{-1}) {
      bytes[i] += model.workspace_bytes(graph.op(step.op), extent, sizes.items);
    }
    // An add takes its first operand's tile over: it is new only after the add itself.
    const size_t from = step.kind == StepKind::add ? i + 1 : i;
    for (size_t k = from; k <= last_use[i]; ++k) bytes[k] += tile_bytes(graph, step, extent, sizes);
  }
  return bytes;
}

namespace {

/// The blocks of one kept tensor on the device while a sweep goes on, in bytes.
class LiveBlocks {
 public:
  LiveBlocks(const Graph& graph, const Pass& pass, const KeptInPass& entry, const Sizes& sizes)
      : graph_(graph),
        pass_(pass),
        kept_(*entry.kept),
        written_(entry.written),
        leaves_(entry.leaves),
        below_(entry.kept->place != Place::device),
        count_(block_count(graph, kept_, sizes)),
        readers_(graph, pass, kept_.tensor, sizes),
        block_bytes_(sizes.items * allocated_bytes(kept_.block_rows * row_bytes(graph, kept_.tensor, sizes))) {}

  /// The same for every band.
  bool steady() const { return !written_ && !leaves_ && !below_; }
  bool written() const { return written_; }
  TensorId tensor() const { return kept_.tensor; }

  /// While a band's steps run that come before the one that stores the tensor.
  int64_t before_store(size_t band) const {
    if (written_) {
      if (band == 0) return 0;
      return bytes(blocks_acquired(graph_, pass_, kept_, band - 1).end - first_in_flight(band));
    }
    if (below_) {
      const size_t next = std::min(band + 1, pass_.tiles.y.size() - 1);
      const int64_t end = std::max(read(band).end, read(next).end);
      return bytes(std::max<int64_t>(0, end - read(band).begin));
    }
    return bytes(leaves_ ? count_ - (band == 0 ? 0 : std::min(count_, read(band).begin)) : count_);
  }
  /// While those after it run.
  int64_t after_store(size_t band) const {
    return written_ ? bytes(blocks_acquired(graph_, pass_, kept_, band).end - first_in_flight(band)) : before_store(band);
  }

 private:
  int64_t bytes(int64_t blocks) const { return blocks * block_bytes_; }
  Interval read(size_t band) const { return blocks_read(readers_, pass_, kept_, band); }
  int64_t first_in_flight(size_t band) const {
    return below_ && band > 0 ? blocks_completed(graph_, pass_, kept_, band - 1).begin : 0;
  }

  const Graph& graph_;
  const Pass& pass_;
  const Kept& kept_;
  bool written_, leaves_, below_;
  int64_t count_;
  RowReaders readers_;
  int64_t block_bytes_;
};

/// What steps hold while a band runs.
struct BandBytes {
  std::vector<int64_t> stretches;  ///< the largest of the steps between two stores of moving tensors, in their order
  int64_t largest = 0;
};

BandBytes band_bytes(const std::vector<int64_t>& by_step, const std::vector<size_t>& stores) {
  BandBytes bytes{std::vector<int64_t>(stores.size() + 1, 0), 0};
  size_t stretch = 0;
  for (size_t i = 0; i < by_step.size(); ++i) {
    while (stretch < stores.size() && stores[stretch] == i) ++stretch;
    bytes.stretches[stretch] = std::max(bytes.stretches[stretch], by_step[i]);
    bytes.largest = std::max(bytes.largest, by_step[i]);
  }
  return bytes;
}

}  // namespace

int64_t pass_peak_bytes(const Graph& graph, const Pass& pass, const std::vector<KeptInPass>& kept,
                        const Extent& tile, const Sizes& sizes, const MemoryModel& model) {
  int64_t steady = 0;
  std::vector<LiveBlocks> read, written;
  for (const KeptInPass& entry : kept) {
    // Blocks taken over are those of the tensor that is replaced; its entry counts them.
    const LiveBlocks blocks(graph, pass, entry, sizes);
    if (blocks.steady()) {
      steady += blocks.before_store(0);
    } else if (!entry.written) {
      read.push_back(blocks);
    }
  }
  std::vector<size_t> stores;
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    if (pass.steps[i].kind != StepKind::store) continue;
    for (const KeptInPass& entry : kept) {
      if (!entry.written || entry.kept->tensor != pass.steps[i].tensor) continue;
      written.emplace_back(graph, pass, entry, sizes);
      stores.push_back(i);
    }
  }
  // The last band holds the most blocks of what is written, and its tiles may be lower than the others.
  const Extent last_tile{tile.t, std::min(tile.y, pass.tiles.y.back().length()), tile.x};
  const BandBytes full = band_bytes(step_bytes(graph, pass, tile, sizes, model), stores);
  const BandBytes last = band_bytes(step_bytes(graph, pass, last_tile, sizes, model), stores);
  int64_t peak = steady;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    const BandBytes& working = band + 1 == pass.tiles.y.size() ? last : full;
    int64_t live = steady;
    for (const LiveBlocks& blocks : read) live += blocks.before_store(band);
    for (const LiveBlocks& blocks : written) live += blocks.before_store(band);
    for (size_t stored = 0; stored <= written.size(); ++stored) {
      if (stored > 0) live += written[stored - 1].after_store(band) - written[stored - 1].before_store(band);
      peak = std::max(peak, live + working.stretches[stored]);
    }
    // The next tile of the band begins beside the blocks that the first one took.
    if (pass.tiles.x.size() > 1) peak = std::max(peak, live + working.largest);
  }
  return peak;
}

}  // namespace headroom
