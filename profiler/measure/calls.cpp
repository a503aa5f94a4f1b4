#include "profiler/measure/calls.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/cpu/loops/storage.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"

namespace headroom::profiler {

namespace {

constexpr int64_t kUnit = 256;  // alignment of views, in values

}  // namespace

void ColdBuffer::hold(int64_t values) {
  if (count_ >= values) return;
  values_.reset();
  count_ = std::max(values, apart_bytes_ / bytes_per_element(dtype_));
  values_ = take_(count_);
}

MapView ColdBuffer::next(int64_t rows, int64_t columns, int64_t channels) {
  const int64_t count = rows * columns * channels;
  hold(count);
  if (offset_ + count > count_) offset_ = 0;
  MapView view{.region = {{0, 1}, {0, rows}, {0, columns}},
               .channels = channels,
               .block_rows = rows,
               .blocks_per_item = 1,
               .blocks = {},
               .dtype = dtype_};
  view.blocks.push_back(static_cast<std::byte*>(values_.get()) + offset_ * bytes_per_element(dtype_));
  offset_ += (count + kUnit - 1) / kUnit * kUnit;
  return view;
}

void fill(float* values, int64_t count) {
  constexpr int64_t kDrawn = 4099;
  uint32_t state = 12345;
  for (int64_t i = 0; i < std::min(count, kDrawn); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = float(state >> 8) * 0x1p-23f - 1.0f;
  }
  for (int64_t i = kDrawn; i < count; i += kDrawn)
    std::copy_n(values, std::min(kDrawn, count - i), values + i);
}

std::shared_ptr<float> filled(LimitedPool& pool, int64_t count) {
  std::shared_ptr<float> values = pool.take_floats(count);
  fill(values.get(), count);
  return values;
}

std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype) {
  std::shared_ptr<void> bytes = pool.take(count * bytes_per_element(dtype));
  constexpr int64_t kChunk = 4099;
  std::vector<float> values(kChunk);
  fill(values.data(), kChunk);
  auto* to = static_cast<std::byte*>(bytes.get());
  for (int64_t i = 0; i < count; i += kChunk)
    kernels::narrow(dtype, values.data(), to + i * bytes_per_element(dtype), std::min(kChunk, count - i));
  return bytes;
}

Region region_of(int64_t rows, int64_t columns) {
  return {{0, 1}, {0, rows}, {0, columns}};
}

Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels) {
  Tile tile = make_tile(pool, region, channels, 1);
  fill(tile.values.get(), tile.value_count());
  return tile;
}

namespace {

/// A call, and the memory of its operands.
struct Prepared {
  StepCall call;
  std::vector<DeviceTile> tiles{};
  std::vector<KeptMap> kept{};
};
using SharedCall = std::shared_ptr<Prepared>;

/// Builds the call of one operation, which makes or reads a tile of one frame.
class OperationCall {
 public:
  OperationCall(const Graph& graph, const Op& op, Device& device, Operands& operands, int64_t rows,
                int64_t columns)
      : graph_(graph), op_(op), device_(device), operands_(operands) {
    const bool conv = op.kind == OpKind::conv;
    // A convolution's tile begins at an even position inside the picture. Its frame has all earlier frames
    // that it reads.
    const int64_t frame = conv ? kernel_shape(graph, op).frames : op.factor.t * op.stride.t > 1 ? 2 : 0;
    const int64_t edge = conv ? 2 : 0;
    region_ = {{frame, frame + 1}, {edge, edge + rows}, {edge, edge + columns}};
    if (op.kind == OpKind::attention) region_ = region_of(1, rows);
    result_extent_ = {frame + 1, rows + 2 * edge, columns + 2 * edge};
    source_extent_ = {frames_at_scale({0, frame + 1}, op.factor.t, op.stride.t).end,
                      ceil_divide(result_extent_.y, op.factor.y) * op.stride.y,
                      ceil_divide(result_extent_.x, op.factor.x) * op.stride.x};
    keys_ = columns;
  }

  Call call() const {
    const auto prepared = std::make_shared<Prepared>();
    prepared->call = {.kind = op_.kind,
                      .op = &op_,
                      .region = region_,
                      .result_extent = result_extent_,
                      .source_extent = source_extent_};
    const size_t first = op_.kind == OpKind::add ? 1 : 0;
    for (size_t k = first; k < op_.inputs.size(); ++k) add_input(k, *prepared);
    if (first == 1) {
      prepared->tiles.push_back(operands_.tile(region_, graph_.tensor(op_.output).channels));
      prepared->call.target = prepared->tiles.back().view;
    }
    return timed(prepared, !takes_statistics(op_.kind) && first == 0);
  }

 private:
  void add_input(size_t k, Prepared& prepared) const {
    const Tensor& tensor = graph_.tensor(op_.inputs[k]);
    if (tensor.statistics) return;
    if (op_.kind == OpKind::attention && k == 2 && op_.inputs[1] == op_.inputs[2]) {
      prepared.call.inputs.push_back(prepared.call.inputs[1]);
      return;
    }
    if (op_.kind == OpKind::attention && k > 0) {
      prepared.kept.push_back(operands_.blocks(keys_, tensor.channels));
      prepared.call.inputs.push_back(prepared.kept.back().view());
      return;
    }
    Region needed = needed_region(op_, region_);
    if (needs_all_frames(op_)) needed.t = {0, source_extent_.t};
    if (op_.kind != OpKind::conv) needed = inside(needed, source_extent_);
    prepared.tiles.push_back(operands_.tile(needed, tensor.channels));
    prepared.call.inputs.push_back(prepared.tiles.back().view);
  }

  /// Replaces the first input by a part of a kept tensor at another address.
  static void read_kept(Operands& operands, StepCall& call) {
    const MapView& input = call.inputs[0];
    call.inputs[0] = operands.next(input.region.y.length(), input.region.x.length(), input.channels);
  }

  /// `makes_tile`: the call allocates its output tile each time, as a step does.
  Call timed(const SharedCall& prepared, bool makes_tile) const {
    const int64_t channels = makes_tile ? graph_.tensor(op_.output).channels : 0;
    const bool rounds = rounds_result(graph_, op_);
    return {[prepared, makes_tile, rounds, channels, &device = device_, &operands = operands_] {
              StepCall& call = prepared->call;
              DeviceTile made;
              if (makes_tile) {
                made = device.make_tile(call.region, channels, 1);
                call.target = made.view;
              }
              if (operation(call.kind).reads_kept) read_kept(operands, call);
              device.run(call);
              if (rounds) device.round(call.target, 1);
            },
            operands_.tile_bytes(positions(extent_of(region_)) * channels)};
  }

  const Graph& graph_;
  const Op& op_;
  Device& device_;
  Operands& operands_;
  Region region_;
  Extent result_extent_, source_extent_;
  int64_t keys_ = 0;
};

}  // namespace

Call Calls::operation(const Op& op, int64_t rows, int64_t columns) const {
  return OperationCall(graph_, op, device_, operands_, rows, columns).call();
}

Call Calls::moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const {
  Device& device = device_;
  Operands& operands = operands_;
  const Region region = region_of(rows, columns);
  if (step == "gather") {
    return {[=, &device, &operands] {
              const DeviceTile made = device.make_tile(region, channels, 1);
              device.run({.kind = OpKind::gather,
                          .inputs = {operands.next(rows, columns, channels)},
                          .target = made.view,
                          .region = region,
                          .result_extent = {1, rows, columns}});
            },
            operands.tile_bytes(rows * columns * channels)};
  }
  const auto tile = std::make_shared<const DeviceTile>(operands.tile(region, channels));
  if (step == "store") {
    return {[=, &device, &operands] {
              device.copy(tile->view, operands.next(rows, columns, channels), region, 1);
            },
            0};
  }
  if (step == "accumulate") {
    return {[=, &device, &operands] {
              device.run({.kind = OpKind::accumulate,
                          .inputs = {tile->view},
                          .target = operands.next(rows, columns, channels),
                          .region = region});
            },
            0};
  }
  // Emitting scans the values before it passes them to the sink. The same tile is emitted repeatedly.
  constexpr int64_t kNoEnd = int64_t{1} << 20;
  const auto sink = std::make_shared<DiscardingSink>(PictureShape{kNoEnd, channels, 1, rows, columns});
  return {[=, &device] { device.emit(tile->view, region, 0, 1, step, *sink); }, 0,
          [&device] { device.finish_output(); }};
}

void Calls::prepare_statistics(const Op& op, const Extent& latent) const {
  constexpr int64_t kSide = 4;
  const Region few{{0, extent_of(graph_.tensor(measured_tensor(op)), latent).t}, {0, kSide}, {0, kSide}};
  std::vector<DeviceTile> tiles;
  std::vector<MapView> views;
  for (TensorId input : op.inputs) {
    tiles.push_back(operands_.tile(few, graph_.tensor(input).channels));
    views.push_back(tiles.back().view);
  }
  device_.statistics().begin(op.output, 1, few.t);
  device_.run({.kind = op.kind, .op = &op, .inputs = std::move(views), .region = few});
}

}  // namespace headroom::profiler
