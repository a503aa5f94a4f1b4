#include "profiler/measure/calls.h"

#include <memory>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"
#include "decoder/graph/operations.h"
#include "decoder/lowering/convolution.h"
#include "profiler/measure/filled.h"

namespace headroom::profiler {
namespace {

using SharedTile = std::shared_ptr<const DeviceTile>;

/// Builds the call of one operation, which makes or reads a tile of one frame.
class OperationCall {
 public:
  OperationCall(const Graph& graph, const Op& op, Device& device, Operands& operands, int64_t rows,
                int64_t columns)
      : graph_(graph),
        op_(op),
        device_(device),
        operands_(operands),
        rows_(rows),
        columns_(columns),
        channels_(graph.tensor(measured_tensor(op)).channels),
        region_(region_of(rows, columns)),
        extent_{1, rows, columns} {}

  Call call() const {
    switch (op_.kind) {
      case OpKind::conv:
        return convolution();
      case OpKind::attention:
        return attention();
      case OpKind::statistics:
        return reading([&device = device_, id = op_.output, region = region_, tile = tile(channels_)] {
          device.add_statistics(id, tile->view, region, 1);
        });
      case OpKind::key_value_sums:
        return reading([&device = device_, id = op_.output, region = region_, inputs = inputs()] {
          device.add_key_values(id, views_of(*inputs), region, 1);
        });
      case OpKind::add:
        return reading([*this, tile = tile(channels_)] {
          device_.add(operands_.next(rows_, columns_, channels_), tile->view, op_.activation, region_, 1);
          device_.round(tile->view, 1);
        });
      case OpKind::norm:
        return making(region_, [*this](const MapView& made) {
          device_.normalise(op_, operands_.next(rows_, columns_, channels_), made, extent_, 1);
        });
      case OpKind::upsample:
        return making(region_, [*this](const MapView& made) {
          device_.upsample(op_, operands_.next(coarse_rows(), coarse_columns(), channels_), made, extent_, 1);
        });
      case OpKind::rms_norm:
        return making(region_, [*this, source = tile(channels_)](const MapView& made) {
          device_.rms_normalise(op_, source->view, made, region_, 1);
        });
      case OpKind::gate:
        return making(region_, [*this, source = tile(2 * channels_)](const MapView& made) {
          device_.gate(source->view, made, region_, 1);
        });
      case OpKind::interpolate:
        return interpolation();
      case OpKind::unfold_frames: {
        const Region second{{1, 2}, region_.y, region_.x};
        return making(second, [*this, second, rest = tile(second, 2 * channels_)](const MapView& made) {
          device_.unfold_frames(rest->view, rest->view, made, second, 1);
        });
      }
      case OpKind::depth_to_space: {
        const auto source =
            tile(region_of(coarse_rows(), coarse_columns()), graph_.tensor(op_.inputs[0]).channels);
        return making(region_, [*this, source](const MapView& made) {
          device_.depth_to_space(op_, source->view, made, region_, 1);
        });
      }
      case OpKind::linear_attention:
        return making(region_, [*this, inputs = inputs()](const MapView& made) {
          device_.attend_linearly(op_, views_of(*inputs), made, region_, 1);
        });
      case OpKind::activate:
        return making(region_, [*this](const MapView& made) {
          device_.gather(operands_.next(rows_, columns_, channels_), made, extent_, 1);
          device_.activate(made, op_.activation, region_, 1);
        });
    }
    return {};
  }

 private:
  int64_t coarse_rows() const { return (rows_ + op_.factor.y - 1) / op_.factor.y; }
  int64_t coarse_columns() const { return (columns_ + op_.factor.x - 1) / op_.factor.x; }

  SharedTile tile(const Region& region, int64_t channels) const {
    return std::make_shared<const DeviceTile>(operands_.tile(region, channels));
  }
  SharedTile tile(int64_t channels) const { return tile(region_, channels); }

  /// Inputs of linear attention: tiles and sums.
  std::shared_ptr<std::vector<DeviceTile>> inputs() const {
    auto inputs = std::make_shared<std::vector<DeviceTile>>();
    for (TensorId input : op_.inputs) {
      const Tensor& tensor = graph_.tensor(input);
      if (!tensor.statistics) inputs->push_back(operands_.tile(region_, tensor.channels));
    }
    return inputs;
  }
  static std::vector<MapView> views_of(const std::vector<DeviceTile>& tiles) {
    std::vector<MapView> views;
    views.reserve(tiles.size());
    for (const DeviceTile& chunk : tiles) views.push_back(chunk.view);
    return views;
  }

  static Call reading(std::function<void()> run) { return {std::move(run), 0}; }

  /// A call that allocates its output tile each time, as a step does.
  template <typename Make>
  Call making(const Region& region, const Make& make) const {
    return {[region, make, &device = device_, channels = channels_, rounds = traits_of(op_.kind).rounds] {
              const DeviceTile made = device.make_tile(region, channels, 1);
              make(made.view);
              if (rounds) device.round(made.view, 1);
            },
            operands_.tile_bytes(positions(extent_of(region)) * channels_)};
  }

  Call convolution() const {
    // The tile begins at an even position inside the picture. Its frame has all the earlier frames that it
    // reads.
    const int64_t frame = kernel_shape(graph_, op_).frames;
    const Region region{{frame, frame + 1}, {2, 2 + rows_}, {2, 2 + columns_}};
    const SharedTile input = tile(needed_region(op_, 0, region), graph_.tensor(op_.inputs[0]).channels);
    const Extent picture{frame + 1, rows_ + 4, columns_ + 4};
    return making(region, [*this, region, input, picture](const MapView& made) {
      device_.convolve(op_, {.source = input->view, .target = made}, region, picture, 1);
    });
  }

  Call attention() const {
    const SharedTile queries = tile(region_of(1, rows_), graph_.tensor(op_.inputs[0]).channels);
    const auto map_of = [&](TensorId id) {
      return std::make_shared<const KeptMap>(operands_.blocks(columns_, graph_.tensor(id).channels));
    };
    const auto keys = map_of(op_.inputs[1]), values = map_of(op_.inputs[2]);
    return making(region_of(1, rows_), [*this, queries, keys, values](const MapView& made) {
      device_.attend(op_, queries->view, keys->view(), values->view(), made, 1);
    });
  }

  /// Interpolates between frames, or within the only frame.
  Call interpolation() const {
    const int64_t frames = op_.factor.t > 1 ? 3 : 1;
    const Extent from{frames, coarse_rows(), coarse_columns()};
    const SharedTile source = tile(whole(from), channels_);
    const Region last{{frames - 1, frames}, region_.y, region_.x};
    return making(last, [*this, from, source, last](const MapView& made) {
      device_.interpolate(op_, source->view, made, from, last, 1);
    });
  }

  const Graph& graph_;
  const Op& op_;
  Device& device_;
  Operands& operands_;
  int64_t rows_, columns_, channels_;
  Region region_;
  Extent extent_;
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
              device.gather(operands.next(rows, columns, channels), made.view, {1, rows, columns}, 1);
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
              device.add(tile->view, operands.next(rows, columns, channels), Activation::none, region, 1);
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
  device_.begin_statistics(op.output, 1);
  if (op.kind == OpKind::statistics) {
    device_.add_statistics(op.output, views[0], few, 1);
  } else {
    device_.add_key_values(op.output, views, few, 1);
  }
}

}  // namespace headroom::profiler
