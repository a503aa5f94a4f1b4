#include "profiler/measure/cpu_calls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "decoder/cpu/attention.h"
#include "decoder/cpu/convolution.h"
#include "decoder/cpu/frames.h"
#include "decoder/cpu/linear_attention.h"
#include "decoder/cpu/map_steps.h"
#include "decoder/cpu/normalisation.h"
#include "decoder/interpreter/materialised_map.h"
#include "decoder/lowering/memory.h"
#include "profiler/measure/filled.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kFarApartBytes = int64_t{96} << 20;

int64_t float_bytes(int64_t positions, int64_t channels) {
  return allocated_bytes(positions * channels * int64_t{sizeof(float)}, DeviceKind::cpu);
}

/// Of one frame of one item.
Call convolution(Pool& pool, const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm, Dtype dtype,
                 const Extent& extent) {
  const int64_t rows = extent.y, columns = extent.x;
  const KernelShape shape = kernel_shape(graph, op);
  const ConvolutionAlgorithm own = algorithm_of(shape, algorithm);
  // A tile that begins at an even position, well inside the picture; a frame that has all the earlier ones.
  const int64_t frame = shape.frames;
  const Region region{{frame, frame + 1}, {2, 2 + rows}, {2, 2 + columns}};
  const Region needed = needed_region(graph, op, 0, region);
  const auto input = std::make_shared<Tile>(make_tile(pool, needed, shape.inputs, 1));
  fill(input->values.get(), input->value_count());
  const std::shared_ptr<float> values = filled(pool, shape.floats(own)), bias = filled(pool, shape.outputs);
  return {[=, &pool, activation = op.activation] {
            const Tile made = make_tile(pool, region, shape.outputs, 1);
            convolve(pool, input->view(), {shape, own, values.get(), bias.get()}, made.view(), region, 1);
            activate(made.view(), activation, region, 1);
            round_tile(made.view(), dtype, 1);
          },
          float_bytes(rows * columns, shape.outputs)};
}

Call attention(Pool& pool, const Graph& graph, const Op& op, Dtype dtype, const Extent& extent) {
  const int64_t queries = extent.y, keys = extent.x;
  const int64_t channels = graph.tensor(op.inputs[0]).channels,
                value_channels = graph.tensor(op.inputs[2]).channels;
  const auto tile = std::make_shared<Tile>(filled_tile(pool, 1, queries, channels));
  const int64_t block =
      std::clamp<int64_t>(MemoryModel{}.block_bytes / (channels * bytes_per_element(dtype)), 1, keys);
  const auto whole_map = [&](int64_t of_channels) {
    const auto map =
        std::make_shared<MaterialisedMap>(Materialised{.block_rows = block}, Extent{1, keys, 1}, of_channels,
                                          1, dtype, [&pool](int64_t size) { return pool.take(size); });
    map->acquire({0, map->blocks_per_item()});
    const int64_t bytes = block * of_channels * bytes_per_element(dtype);
    const std::shared_ptr<void> values = filled_buffer(pool, block * of_channels, dtype);  // one frame
    for (void* to : map->view().blocks) std::memcpy(to, values.get(), static_cast<size_t>(bytes));
    return map;
  };
  const auto key_map = whole_map(channels), value_map = whole_map(value_channels);
  const Region region = region_of(1, queries);
  return {[=, &pool, frames = op.frames] {
            const Tile made = make_tile(pool, region, value_channels, 1);
            attend(pool, {tile->view(), key_map->view(), value_map->view()}, frames, made.view(), 1);
            round_tile(made.view(), dtype, 1);
          },
          float_bytes(queries, value_channels)};
}

/// What linear attention and its sums read.
std::shared_ptr<std::vector<Tile>> chunks_of(Pool& pool, const Graph& graph, const Op& op, int64_t rows,
                                             int64_t columns) {
  const auto chunks = std::make_shared<std::vector<Tile>>();
  for (TensorId input : op.inputs) {
    const Tensor& tensor = graph.tensor(input);
    if (!tensor.statistics) chunks->push_back(filled_tile(pool, rows, columns, tensor.channels));
  }
  return chunks;
}

std::vector<MapView> views_of(const std::vector<Tile>& tiles) {
  std::vector<MapView> views;
  for (const Tile& tile : tiles) views.push_back(tile.view());
  return views;
}

}  // namespace

CpuCalls::CpuCalls(Pool& pool, const Graph& graph, Dtype dtype)
    : pool_(pool),
      graph_(graph),
      cold_(std::make_shared<ColdBuffer>(dtype, kFarApartBytes, [&pool, dtype](int64_t values) {
        return filled_buffer(pool, values, dtype);
      })) {}

Call CpuCalls::operation(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows, int64_t columns) const {
  Pool& pool = pool_;
  const Graph& graph = graph_;
  const std::shared_ptr<ColdBuffer>& store = cold_;
  const int64_t channels = graph.tensor(measured_tensor(op)).channels;
  const Extent extent{1, rows, columns};
  const Region region = region_of(rows, columns);
  switch (op.kind) {
    case OpKind::conv:
      return convolution(pool, graph, op, algorithm, store->dtype(), extent);
    case OpKind::attention:
      return attention(pool, graph, op, store->dtype(), extent);
    case OpKind::statistics: {
      const auto tile = std::make_shared<Tile>(filled_tile(pool, rows, columns, channels));
      const auto statistics = std::make_shared<GroupStatistics>(1, op.groups);
      return {[=, &pool] { statistics->add(tile->view(), tile->region, 1); }, 0};
    }
    case OpKind::norm: {
      const Op& measured = *graph.producer(op.inputs[1]);
      const auto statistics = std::make_shared<GroupStatistics>(1, measured.groups);
      const Tile sample = filled_tile(pool, 4, 4, channels);
      statistics->add(sample.view(), sample.region, 1);
      const std::shared_ptr<float> scale = filled(pool, channels), bias = filled(pool, channels);
      const OpWeights weights{.scale = scale.get(), .bias = bias.get()};
      return {[=, &pool, held = std::pair(scale, bias), activation = op.activation] {
                normalise({weights, 1e-6, activation}, *statistics, store->next(rows, columns, channels),
                          make_tile(pool, region_of(rows, columns), channels, 1).view(), extent, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::upsample: {
      const Axes<int32_t> factor = op.factor;
      return {[=, &pool] {
                const MapView source = store->next((rows + factor.y - 1) / factor.y,
                                                   (columns + factor.x - 1) / factor.x, channels);
                upsample(source, make_tile(pool, region_of(rows, columns), channels, 1).view(), factor,
                         extent, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::add: {
      const auto tile = std::make_shared<Tile>(filled_tile(pool, rows, columns, channels));
      return {[=, &pool] {
                add_region(store->next(rows, columns, channels), tile->view(), tile->region, 1);
                round_tile(tile->view(), store->dtype(), 1);
              },
              0};
    }
    case OpKind::rms_norm: {
      const auto source = std::make_shared<Tile>(filled_tile(pool, rows, columns, channels));
      const std::shared_ptr<float> scale = filled(pool, channels), bias = filled(pool, channels);
      const OpWeights weights{.scale = scale.get(), .bias = bias.get()};
      return {[=, &pool, held = std::pair(scale, bias), activation = op.activation] {
                rms_normalise({weights, 1e-6, activation}, source->view(),
                              make_tile(pool, region, channels, 1).view(), region, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::gate: {
      const auto source = std::make_shared<Tile>(filled_tile(pool, rows, columns, 2 * channels));
      return {[=, &pool, dtype = store->dtype()] {
                const Tile made = make_tile(pool, region, channels, 1);
                gate(source->view(), made.view(), region, 1);
                round_tile(made.view(), dtype, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::interpolate: {
      // A frame between two others, or the only one; frames that are read lie one after another.
      const Axes<int32_t> factor = op.factor;
      const int64_t frames = factor.t > 1 ? 3 : 1;
      const Extent from{frames, (rows + factor.y - 1) / factor.y, (columns + factor.x - 1) / factor.x};
      const auto source = std::make_shared<Tile>(filled_tile(pool, frames * from.y, from.x, channels));
      return {[=, &pool] {
                MapView view = source->view();
                view.region = whole(from);
                view.block_rows = from.y;
                const Region last{{frames - 1, frames}, {0, rows}, {0, columns}};
                interpolate(view, make_tile(pool, last, channels, 1).view(), factor, from, last, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::unfold_frames: {
      const auto source = std::make_shared<Tile>(filled_tile(pool, rows, columns, 2 * channels));
      return {[=, &pool] {
                MapView rest = source->view();
                rest.region.t = {1, 2};
                const Region second{{1, 2}, {0, rows}, {0, columns}};
                unfold_frames(rest, rest, make_tile(pool, second, channels, 1).view(), second, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::depth_to_space: {
      const Axes<int32_t> factor = op.factor;
      const auto source = std::make_shared<Tile>(filled_tile(pool, (rows + factor.y - 1) / factor.y,
                                                             (columns + factor.x - 1) / factor.x,
                                                             channels * factor.y * factor.x));
      return {[=, &pool] {
                depth_to_space(source->view(), make_tile(pool, region, channels, 1).view(), factor, region,
                               1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::key_value_sums: {
      const auto chunks = chunks_of(pool, graph, op, rows, columns);
      const auto sums = std::make_shared<KeyValueSums>(1, LinearHeads{op.groups, head_channels(graph, op)});
      return {[=, &pool] { sums->add(views_of(*chunks), region, 1); }, 0};
    }
    case OpKind::linear_attention: {
      const auto chunks = chunks_of(pool, graph, op, rows, columns);
      const auto sums = std::make_shared<KeyValueSums>(1, LinearHeads{op.groups, head_channels(graph, op)});
      sums->add(views_of(*chunks), region, 1);
      return {[=, &pool, dtype = store->dtype()] {
                const Tile made = make_tile(pool, region, channels, 1);
                attend_linearly(pool, views_of(*chunks), {*sums, 1e-15}, made.view(), region, 1);
                round_tile(made.view(), dtype, 1);
              },
              float_bytes(rows * columns, channels)};
    }
  }
  return {};
}

Call CpuCalls::moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const {
  Pool& pool = pool_;
  const std::shared_ptr<ColdBuffer>& store = cold_;
  const Extent extent{1, rows, columns};
  if (step == "gather") {
    return {[=, &pool] {
              gather(store->next(rows, columns, channels),
                     make_tile(pool, region_of(rows, columns), channels, 1).view(), extent, 1);
            },
            float_bytes(rows * columns, channels)};
  }
  const auto tile = std::make_shared<Tile>(filled_tile(pool, rows, columns, channels));
  if (step == "store") {
    return {[=, &pool] { copy_region(tile->view(), store->next(rows, columns, channels), tile->region, 1); },
            0};
  }
  if (step == "accumulate") {
    return {[=, &pool] { add_region(tile->view(), store->next(rows, columns, channels), tile->region, 1); },
            0};
  }
  // Emitting: the values are looked through before the sink has them.
  return {[=, &pool] {
            const float* values = tile->values.get();
            const bool finite =
                std::all_of(values, values + tile->value_count(), [](float v) { return std::isfinite(v); });
            if (!finite) throw std::logic_error("not finite");
          },
          0};
}

}  // namespace headroom::profiler
