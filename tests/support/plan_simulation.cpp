#include "tests/support/plan_simulation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/tiles.h"
#include "tests/support/simulated_gpu.h"
#include "tests/support/simulated_rows.h"

namespace headroom::test {
namespace {

int64_t blocks_per_item(const Graph& graph, const SimulatedTensor& tensor, const Sizes& sizes) {
  const int64_t block_rows = tensor.block_rows;
  const int64_t rows = extent_of(graph.tensor(tensor.tensor), sizes.latent).y;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row += block_rows) ++count;
  return count;
}

bool holds_tile(OpKind kind) {
  return kind == OpKind::gather || kind == OpKind::norm || kind == OpKind::upsample || kind == OpKind::conv ||
         kind == OpKind::add || kind == OpKind::attention;
}

/// Positions along one axis that a step covers in each grid interval. This is the interval's share of the
/// tensor plus the halo towards each neighbour.
std::vector<double> priced_lengths(const std::vector<Interval>& grid, int32_t scale, int32_t grid_scale,
                                   int32_t before, int32_t after) {
  std::vector<double> lengths;
  for (size_t i = 0; i < grid.size(); ++i) {
    double length = double(grid[i].end - grid[i].begin) * scale / grid_scale;
    length += i > 0 ? before : 0;
    length += i + 1 < grid.size() ? after : 0;
    lengths.push_back(length);
  }
  return lengths;
}

/// Size of the largest tile along one axis, as the plan counts it. Adds one position if tile boundaries can
/// cut a position.
int64_t counted_length(int64_t longest, int32_t scale, int32_t grid_scale, int32_t halo, int32_t pad,
                       int64_t extent) {
  int64_t touched = 0;
  for (int64_t position = 0; position < longest * scale; position += grid_scale) ++touched;
  if (longest * scale % grid_scale != 0) ++touched;
  return std::min(std::min(touched, extent) + halo, extent + 2 * pad);
}

/// Memory and seconds of one step.
struct StepLedger {
  bool tile = false;
  bool in_operand = false;  ///< an add writes over the tile of its first operand
  int64_t tile_bytes = 0;
  int64_t workspace_bytes = 0;
  size_t last_reader = 0;
  double per_tile = 0, per_position = 0;
  double handed_on = 0;         ///< seconds per column of a tile to hand rows on, in bands after the first
  std::vector<double> t, y, x;  ///< positions of each interval
};

/// Counted rows of a tile in one band of a pass that carries rows. The first band has its exact rows.
int64_t counted_rows(const Graph& graph, const Pass& pass, const Step& step, size_t band,
                     const Sizes& sizes) {
  const Interval first = simulated_rows(graph, pass, step, 0, sizes).tile;
  if (band == 0) return first.length();
  const Tensor& tensor = graph.tensor(step.tensor);
  return counted_length(pass.tiles.y[band].length(), tensor.scale.y, pass.scale.y, step.halo.before.y,
                        step.pad.y, extent_of(tensor, sizes.latent).y);
}

/// Memory and time of all steps, for the tiles of one band.
std::vector<StepLedger> ledger_of(const Graph& graph, const Pass& pass,
                                  const std::vector<SimulatedTensor>& tensors, size_t band,
                                  const Sizes& sizes, const Assumptions& assumptions) {
  std::vector<StepLedger> ledger(pass.steps.size());
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    const Tensor& tensor = graph.tensor(swept(step));
    StepLedger& entry = ledger[i];
    entry.last_reader = i;
    for (const Operand& operand : step.inputs) {
      if (operand.step >= 0) ledger[static_cast<size_t>(operand.step)].last_reader = i;
    }
    entry.per_tile = assumptions.step_seconds;
    entry.per_position =
        seconds_per_position(graph, step, pass.convolutions.of(step.op), sizes, assumptions) *
        double(sizes.items);
    entry.t =
        priced_lengths(pass.tiles.t, tensor.scale.t, pass.scale.t, step.halo.before.t, step.halo.after.t);
    entry.y =
        priced_lengths(pass.tiles.y, tensor.scale.y, pass.scale.y, step.halo.before.y, step.halo.after.y);
    entry.x =
        priced_lengths(pass.tiles.x, tensor.scale.x, pass.scale.x, step.halo.before.x, step.halo.after.x);
    if (pass.carries_rows) {
      for (size_t y = 0; y < pass.tiles.y.size(); ++y) {
        entry.y[y] = double(pass.tiles.y[y].length()) * tensor.scale.y / pass.scale.y;
        const SimulatedRows rows = simulated_rows(graph, pass, step, y, sizes);
        if (y > 0 && holds_tile(step.kind) && rows.made == rows.tile) entry.y[y] += step.halo.before.y;
      }
      entry.handed_on = 2 * double(rows_left(pass, step) * tensor.channels * 4 * sizes.items) /
                        assumptions.bytes_per_second;
    }
    if (!holds_tile(step.kind)) continue;
    entry.tile = step.target == StepTarget::tile;
    entry.in_operand = step.kind == OpKind::add && rows_left(pass, step) == 0;
    const auto halo = per_axis([](int32_t a, int32_t b) { return a + b; }, step.halo.before, step.halo.after);
    const Extent extent = extent_of(tensor, sizes.latent);
    const Extent counted{counted_length(pass.tiles.t.front().length(), tensor.scale.t, pass.scale.t, halo.t,
                                        step.pad.t, extent.t),
                         pass.carries_rows ? counted_rows(graph, pass, step, band, sizes)
                                           : counted_length(pass.tiles.y[band].length(), tensor.scale.y,
                                                            pass.scale.y, halo.y, step.pad.y, extent.y),
                         counted_length(pass.tiles.x.front().length(), tensor.scale.x, pass.scale.x, halo.x,
                                        step.pad.x, extent.x)};
    entry.tile_bytes = tile_pool_bytes(counted.t * counted.y * counted.x * tensor.channels, sizes);
    const bool below = std::any_of(tensors.begin(), tensors.end(), [&](const SimulatedTensor& found) {
      return found.tier != MemoryTier::device && step.kind == OpKind::attention &&
             found.tensor == step.inputs[1].tensor;
    });
    // For each query, the sums, the largest score and the sum of weights persist between blocks of keys.
    if (below && sizes.device == DeviceKind::cuda) {
      const auto list = [](int64_t floats) { return (floats * 4 + 255) / 256 * 256; };
      const int64_t queries = counted.y * counted.x;
      entry.workspace_bytes += pool_bytes(list(queries * tensor.channels) + 2 * list(queries), sizes.device);
    }
    if (step.op != OpId{-1} && assumptions.memory.workspace_bytes) {
      entry.workspace_bytes += assumptions.memory.workspace_bytes(
          graph.op(step.op), pass.convolutions.of(step.op), counted, sizes);
    }
  }
  return ledger;
}

/// Rows of a kept tensor that the steps of one band read. Empty if no step reads it.
Interval rows_read(const Graph& graph, const Pass& pass, TensorId id, size_t band, const Sizes& sizes) {
  const int64_t rows = extent_of(graph.tensor(id), sizes.latent).y;
  Interval all{rows, 0};
  for (const Step& step : pass.steps) {
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.inputs[k].tensor != id || step.inputs[k].step != -1) continue;
      Interval read{0, rows};
      const bool own = step.kind == OpKind::statistics || step.kind == OpKind::accumulate ||
                       (step.add != OpId{-1} && k > 0);
      const Region grid{pass.tiles.t[0], pass.tiles.y[band], pass.tiles.x[0]};
      Step reader = step;
      if (own) reader.tensor = id;
      Region made = tile_region(graph, pass, reader, grid, sizes.latent);
      made.y = simulated_rows(graph, pass, reader, band, sizes).made;
      if (own || step.kind == OpKind::gather) {
        read = made.y;
      } else if (!is_barrier(graph.op(step.op), k)) {
        const int64_t made_rows = extent_of(graph.tensor(step.tensor), sizes.latent).y;
        Region inside = made;
        inside.y = intersect(made.y, {0, made_rows});  // the rest is zeros
        read = needed_region(graph.op(step.op), inside).y;
      }
      read = intersect(read, {0, rows});
      all = {std::min(all.begin, read.begin), std::max(all.end, read.end)};
    }
  }
  return all;
}

/// Tracks which blocks of a tensor are on the device, for one item.
class Blocks {
 public:
  Blocks(const Graph& graph, const Pass& pass, const SimulatedTensor& tensor, const Sizes& sizes)
      : tensor_(tensor),
        on_device_(static_cast<size_t>(blocks_per_item(graph, tensor, sizes)), false),
        last_band_(on_device_.size(), -1),
        bytes_(block_bytes_of(graph, tensor, sizes) / static_cast<int64_t>(on_device_.size())) {
    const Tensor& shape = graph.tensor(tensor.tensor);
    const int64_t all_rows = extent_of(shape, sizes.latent).y;
    for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
      const Interval rows =
          tensor.written ? intersect(image(pass.tiles.y[band], shape.scale.y, pass.scale.y), {0, all_rows})
                         : rows_read(graph, pass, tensor.tensor, band, sizes);
      touched_.push_back(rows.length() == 0 ? Interval{0, 0}
                                            : Interval{rows.begin / tensor.block_rows,
                                                       (rows.end - 1) / tensor.block_rows + 1});
      for (int64_t b = touched_.back().begin; b < touched_.back().end; ++b)
        last_band_[static_cast<size_t>(b)] = static_cast<int64_t>(band);
    }
    if (!tensor.written && tensor.tier == MemoryTier::device) on_device_.assign(on_device_.size(), true);
    // The last rows may belong to a halo that no tile needs. Their blocks stay until the last band.
    if (std::any_of(last_band_.begin(), last_band_.end(), [](int64_t band) { return band >= 0; })) {
      for (size_t b = last_band_.size(); b-- > 0 && last_band_[b] < 0;)
        last_band_[b] = static_cast<int64_t>(pass.tiles.y.size()) - 1;
    }
  }

  TensorId tensor() const { return tensor_.tensor; }
  bool written() const { return tensor_.written; }

  void begin_band(size_t number) {
    const auto band = static_cast<int64_t>(number);
    for (size_t b = 0; b < on_device_.size(); ++b) {
      if (tensor_.written) {
        // In a lower tier, blocks that the previous band completed are still being copied out.
        if (tensor_.tier != MemoryTier::device && last_band_[b] < band - 1) on_device_[b] = false;
      } else if (tensor_.tier == MemoryTier::device) {
        if (tensor_.leaves && number > 0 && last_band_[b] < band) on_device_[b] = false;
      } else {
        const auto block = static_cast<int64_t>(b);
        on_device_[b] = within(number, block) || (number + 1 < touched_.size() && within(number + 1, block));
      }
    }
  }
  void store(size_t band) {
    for (int64_t b = touched_[band].begin; b < touched_[band].end; ++b)
      on_device_[static_cast<size_t>(b)] = true;
  }
  int64_t live_bytes() const {
    if (staged()) return staged_bytes_;
    return bytes_ * std::count(on_device_.begin(), on_device_.end(), true);
  }
  /// Bytes of all blocks that this pass transfers to or from the lower tier.
  int64_t moved_bytes() const {
    const bool moves =
        tensor_.tier != MemoryTier::device &&
        std::any_of(last_band_.begin(), last_band_.end(), [](int64_t band) { return band >= 0; });
    return moves ? bytes_ * static_cast<int64_t>(on_device_.size()) : 0;
  }
  MemoryTier tier() const { return tensor_.tier; }
  /// Streams keys or values through two block buffers, one item at a time.
  void stage(int64_t items) {
    staged_bytes_ = bytes_ / items * std::min<int64_t>(2, static_cast<int64_t>(on_device_.size()));
  }
  bool staged() const { return staged_bytes_ > 0; }

 private:
  bool within(size_t band, int64_t block) const {
    return touched_[band].begin <= block && block < touched_[band].end;
  }

  const SimulatedTensor tensor_;
  std::vector<bool> on_device_;
  std::vector<int64_t> last_band_;  ///< last band that touches each block
  std::vector<Interval> touched_;   ///< blocks, by band
  int64_t bytes_;                   ///< of block b of all items
  int64_t staged_bytes_ = 0;
};

/// Runs one tile through all steps. Calls `at(step, bytes)` with the live bytes of tiles and workspace during
/// each step.
template <typename BytesOf, typename At>
void run_tile(const std::vector<StepLedger>& ledger, const BytesOf& bytes_of_tile, const At& at) {
  int64_t held = 0;
  for (size_t i = 0; i < ledger.size(); ++i) {
    const StepLedger& step = ledger[i];
    if (step.tile && !step.in_operand) held += bytes_of_tile(i);
    at(i, held + step.workspace_bytes);
    for (size_t k = 0; k < i; ++k) {
      if (ledger[k].tile && ledger[k].last_reader == i) held -= bytes_of_tile(k);
    }
    if (step.in_operand) held += bytes_of_tile(i);
    if (step.tile && step.last_reader == i) held -= bytes_of_tile(i);
  }
}

}  // namespace

int64_t block_bytes_of(const Graph& graph, const SimulatedTensor& stored, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(stored.tensor);
  const Extent extent = extent_of(tensor, sizes.latent);
  const int64_t row = extent.t * extent.x * tensor.channels * (sizes.dtype == Dtype::fp32 ? 4 : 2);
  return sizes.items * blocks_per_item(graph, stored, sizes) *
         pool_bytes(stored.block_rows * row, sizes.device);
}

namespace {

/// Bytes of the rows that the tiles of a band leave for the next band. They stay allocated throughout the
/// pass.
int64_t handed_on_bytes(const Graph& graph, const Pass& pass, const Sizes& sizes) {
  int64_t bytes = 0;
  if (pass.tiles.y.size() < 2) return bytes;
  for (const Step& step : pass.steps) {
    int64_t columns = 0;
    for (const Interval& x : pass.tiles.x)
      columns +=
          tile_region(graph, pass, step, {pass.tiles.t[0], pass.tiles.y[0], x}, sizes.latent).x.length();
    if (rows_left(pass, step) > 0)
      bytes += tile_pool_bytes(rows_left(pass, step) * columns * graph.tensor(step.tensor).channels, sizes);
  }
  return bytes;
}

}  // namespace

SimulatedPass simulate_pass(const Graph& graph, const Pass& pass, const std::vector<SimulatedTensor>& tensors,
                            const Sizes& sizes, WeightResidency weights, const Assumptions& assumptions) {
  // The last band may have fewer rows than the others. If the pass carries rows, the first band receives
  // none.
  const size_t bands = pass.tiles.y.size();
  const std::vector<StepLedger> first = ledger_of(graph, pass, tensors, 0, sizes, assumptions);
  const std::vector<StepLedger> full =
      ledger_of(graph, pass, tensors, pass.carries_rows && bands > 1 ? 1 : 0, sizes, assumptions);
  const std::vector<StepLedger> last = ledger_of(graph, pass, tensors, bands - 1, sizes, assumptions);
  const int64_t handed_on = handed_on_bytes(graph, pass, sizes);
  std::set<OpId> operations;
  for (const Step& step : pass.steps) operations.insert(step.op);
  int64_t resident = 0, brought = 0, loaded = 0, transformed = 0;
  for (size_t number = 0; number < graph.ops().size(); ++number) {
    const Op& op = graph.ops()[number];
    const OpId id{static_cast<int32_t>(number)};
    const bool runs = operations.contains(id);
    const ConvolutionAlgorithm algorithm = pass.convolutions.of(id);
    const bool changes = runs && algorithm == ConvolutionAlgorithm::winograd && has_two_algorithms(graph, op);
    if (changes) transformed += winograd_bytes(graph, op);
    if (weights == WeightResidency::resident) {
      resident += parameter_bytes(graph, op, ConvolutionAlgorithm::direct, sizes);
      if (changes) brought += winograd_bytes(graph, op);
    } else if (runs) {
      brought += parameter_bytes(graph, op, algorithm, sizes);
      loaded += parameter_bytes(graph, op, ConvolutionAlgorithm::direct, sizes);
    }
  }
  const Extent latent = extent_of(graph.tensor(graph.input()), sizes.latent);
  const int64_t latent_values = latent.t * latent.y * latent.x * graph.tensor(graph.input()).channels;
  const int64_t throughout =
      pool_bytes(resident, sizes.device) + pool_bytes(brought, sizes.device) +
      statistics_bytes(graph, sizes) + assumptions.memory.reserve_bytes +
      std::llround(assumptions.memory.reserve_bytes_per_pixel *
                   double(sizes.items * positions(extent_of(graph.tensor(graph.output()), sizes.latent)))) +
      sizes.items * pool_bytes(latent_values * 4, sizes.device);  // fp32 in every dtype
  std::vector<Blocks> kept;
  for (const SimulatedTensor& tensor : tensors) kept.emplace_back(graph, pass, tensor, sizes);

  double waiting = 0;  // seconds; every tile of queries streams keys and values again
  for (const Step& step : pass.steps) {
    if (step.kind != OpKind::attention) continue;
    double bringing = 0;
    for (Blocks& blocks : kept) {
      const bool read = blocks.tensor() == step.inputs[1].tensor || blocks.tensor() == step.inputs[2].tensor;
      if (!read || blocks.written() || blocks.tier() == MemoryTier::device) continue;
      const Extent extent = extent_of(graph.tensor(step.tensor), sizes.latent);
      double frames = 0, keys = 0;
      for (int64_t t = 0; t < extent.t; ++t) {
        const Interval attended = attended_frames(graph.op(step.op).frames, t, extent.t);
        frames += double(attended.end) / double(extent.t);
        keys += double(attended.length());
      }
      const double area = double(extent.y * extent.x);
      const double rate = sizes.device == DeviceKind::cpu ? assumptions.attention_flops_per_second
                          : sizes.dtype == Dtype::fp32    ? assumptions.card.fp32_attention_flops_per_second
                                                          : assumptions.card.attention_flops_per_second;
      bringing += double(blocks.moved_bytes()) * frames * double(pass.tiles.y.size() * pass.tiles.x.size()) /
                  (blocks.tier() == MemoryTier::host ? assumptions.host_bytes_per_second
                                                     : assumptions.scratch_bytes_per_second);
      if (blocks.tensor() == step.inputs[1].tensor) {
        bringing -= 4 * area * area * keys * double(graph.tensor(step.tensor).channels * sizes.items) / rate;
      }
      blocks.stage(sizes.items);
    }
    waiting += std::max(0.0, bringing);
  }

  SimulatedPass result;
  double compute = double(transformed) / assumptions.transform_bytes_per_second;
  for (size_t t = 0; t < pass.tiles.t.size(); ++t) {
    for (size_t y = 0; y < pass.tiles.y.size(); ++y) {
      const std::vector<StepLedger>& ledger = y + 1 == bands ? last : y == 0 ? first : full;
      int64_t live = throughout + handed_on;
      for (Blocks& blocks : kept) {
        blocks.begin_band(y);
        live += blocks.live_bytes();
      }
      for (size_t x = 0; x < pass.tiles.x.size(); ++x) {
        run_tile(
            ledger, [&](size_t i) { return ledger[i].tile_bytes; },
            [&](size_t i, int64_t bytes) {
              const bool stores =
                  pass.steps[i].kind == OpKind::store || pass.steps[i].target == StepTarget::blocks;
              if (x == 0 && stores) {
                for (Blocks& blocks : kept) {
                  if (!blocks.written() || blocks.tensor() != pass.steps[i].tensor) continue;
                  live -= blocks.live_bytes();
                  blocks.store(y);
                  live += blocks.live_bytes();
                }
              }
              result.peak_bytes = std::max(result.peak_bytes, live + bytes);
              compute += ledger[i].per_tile +
                         ledger[i].per_position * ledger[i].t[t] * ledger[i].y[y] * ledger[i].x[x];
              if (y > 0) compute += ledger[i].handed_on * ledger[i].x[x];
            });
      }
    }
  }
  if (sizes.device == DeviceKind::cuda) compute = simulated_gpu_seconds(graph, pass, sizes, assumptions.card);
  double in = 0, out = 0;
  for (const Blocks& blocks : kept) {
    if (blocks.staged()) continue;
    const double rate = blocks.tier() == MemoryTier::host ? assumptions.host_bytes_per_second
                                                          : assumptions.scratch_bytes_per_second;
    (assumptions.both_ways && blocks.written() ? out : in) += double(blocks.moved_bytes()) / rate;
  }
  // Fetch, compute and write-back of neighbouring bands overlap. The slowest of the three takes its full
  // time. Each of the others adds the time of one band.
  const double longest = std::max({compute, in, out});
  result.seconds = longest + (compute + in + out - longest) / double(pass.tiles.y.size());
  result.seconds += waiting;
  result.seconds += double(loaded) / assumptions.weights_bytes_per_second;
  return result;
}

SimulatedPlan simulate(const Graph& graph, const Plan& plan, const Assumptions& assumptions) {
  const Axes<int32_t> scale = graph.tensor(graph.output()).scale;
  const Sizes sizes{
      {plan.request.frames, plan.request.height_pixels / scale.y, plan.request.width_pixels / scale.x},
      plan.micro_batch,
      plan.request.dtype,
      plan.request.device};
  SimulatedPlan result;
  double micro_batch_seconds = 0;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const auto pass = static_cast<int32_t>(i);
    std::vector<SimulatedTensor> tensors;
    for (const KeptTensor& entry : plan.kept) {
      const KeptTensor* successor = nullptr;
      for (const KeptTensor& other : plan.kept) {
        if (other.in_place_of == entry.tensor) successor = &other;
      }
      if (pass < entry.first_pass || pass > entry.last_pass) continue;
      const bool written = pass == entry.first_pass;
      if (written && entry.in_place_of != TensorId{-1})
        continue;  // it reuses the blocks of the tensor that it replaces
      tensors.push_back({entry.tensor, entry.tier, entry.block_rows, written,
                         pass == entry.last_pass && successor == nullptr});
    }
    result.passes.push_back(simulate_pass(graph, plan.passes[i], tensors, sizes, plan.weights, assumptions));
    result.peak_bytes = std::max(result.peak_bytes, result.passes.back().peak_bytes);
    micro_batch_seconds += result.passes.back().seconds;
  }
  result.seconds = micro_batch_seconds * double(plan.request.batch / plan.micro_batch);
  if (plan.weights == WeightResidency::resident) result.seconds += load_seconds(graph, sizes, assumptions);
  return result;
}

}  // namespace headroom::test
