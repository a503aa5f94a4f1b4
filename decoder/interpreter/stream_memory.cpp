#include "decoder/interpreter/stream_memory.h"

#include <algorithm>
#include <memory>

#include "decoder/graph/geometry.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/stream.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

/// Hands out addresses without memory, and counts.
class CountedMemory final : public MemoryMeter {
 public:
  std::shared_ptr<void> take(int64_t bytes) {
    if (bytes == 0) return nullptr;
    live_ += bytes;
    most_ = std::max(most_, live_);
    window_ = std::max(window_, live_);
    next_ += static_cast<uintptr_t>(bytes);
    return {reinterpret_cast<void*>(next_ - static_cast<uintptr_t>(bytes)),  // NOLINT: never read
            [this, bytes](void*) { live_ -= bytes; }};
  }
  int64_t most_bytes() const { return most_; }
  int64_t live_bytes() const override { return live_; }
  void start_window() override { window_ = live_; }
  int64_t window_peak_bytes() const override { return window_; }

 private:
  int64_t live_ = 0, most_ = 0, window_ = 0;
  uintptr_t next_ = uintptr_t{1} << 40;
};

/// Allocates what the CPU allocates, and computes nothing.
class CountingDevice final : public Device, private DeviceStatistics {
 public:
  CountingDevice(const Graph& graph, const Plan& plan, const MemoryModel& model, CountedMemory& memory)
      : graph_(graph), plan_(plan), sizes_(sizes_of(graph, plan)), model_(model), memory_(memory) {}

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries&) override {
    return memory_.take(allocated_bytes(bytes, sizes_));
  }
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override {
    const int64_t values = positions(extent_of(region)) * channels;
    MapView view{.region = region,
                 .channels = channels,
                 .block_rows = region.y.length(),
                 .blocks_per_item = 1,
                 .blocks = {}};
    const std::shared_ptr<void> memory =
        memory_.take(storage_rules(sizes_).tile_bytes(values * tile_element_bytes(sizes_), items));
    for (int64_t item = 0; item < items; ++item)
      view.blocks.push_back(static_cast<std::byte*>(memory.get()) +
                            item * values * tile_element_bytes(sizes_));
    return {std::move(view), memory};
  }
  MemoryMeter& memory() override { return memory_; }
  void load_latent(const ArrayView&, int64_t, const MapView&, int64_t) override {}
  void emit(const MapView&, const Region&, int64_t, int64_t, const std::string&, PictureSink&) override {}
  void finish_output() override {}
  void begin_pass(size_t pass) override {
    pass_ = &plan_.passes[pass];
    weights_ = memory_.take(allocated_bytes(
        pass_weights_bytes(graph_, *pass_, pass_->convolutions, plan_.weights, sizes_.storage()), sizes_));
  }
  void end_pass() override { weights_.reset(); }
  DeviceStatistics& statistics() override { return *this; }
  void run(const StepCall& call) override {
    if (call.op == nullptr || takes_statistics(call.kind) || !model_.workspace_bytes) return;
    const OpId id = graph_.tensor(call.op->output).producer;
    memory_.take(
        model_.workspace_bytes(*call.op, pass_->convolutions.of(id), extent_of(call.inside()), sizes_));
  }
  void round(const MapView&, int64_t) override {}
  void fill_outside(const MapView&, Edges, const Extent&, int64_t) override {}

 private:
  void begin(TensorId, int64_t, const Interval&) override {}
  std::vector<double> values(const std::vector<TensorId>&) override { return {}; }
  void set_values(const std::vector<TensorId>&, const std::vector<double>&) override {}
  void check(TensorId, const std::string&) override {}
  void forget(TensorId) override {}

  const Graph& graph_;
  const Plan plan_;
  const Sizes sizes_;
  const MemoryModel& model_;
  CountedMemory& memory_;
  const Pass* pass_ = nullptr;
  std::shared_ptr<void> weights_;
};

/// A block without values, which the device does not read.
ArrayView block_of(const Model& model, const Plan& plan, int64_t frames) {
  const Extent latent = latent_of(model.graph, plan.request);
  std::vector<int64_t> shape = input_shape(model, {2, latent.y, latent.x}, plan.request.batch);
  shape[2] = frames;
  return {std::move(shape), nullptr};
}

/// Latent frames of a stream's blocks.
struct Blocks {
  int64_t first = 1, others = 1;
};
struct Counts {
  int64_t state_bytes = 0, peak_bytes = 0;
};

/// Streams until blocks repeat, then ends the stream.
Counts counted_stream(const Model& model, const Plan& plan, const Blocks& blocks, const MemoryModel& memory) {
  const auto [first, block] = blocks;
  CountedMemory counted;
  Stream stream(model, plan, block, [&](const Plan& micro_batch) {
    return std::make_unique<CountingDevice>(model.graph, micro_batch, memory, counted);
  });
  DiscardingSink nowhere({1, 1, 1, 1, 1});  // the device writes nothing, so no size is too small
  const int64_t scale = model.graph.tensor(model.graph.input()).scale.t;
  int64_t same = 0, before = -1, most = 0;
  stream.push(block_of(model, plan, (first - 1) * scale + 1), false, nowhere);
  while (same < 2 || stream.frames_made() == 0) {
    const int64_t state = counted.live_bytes();
    same = state == before ? same + 1 : 0;
    before = state;
    most = std::max(most, state);
    stream.push(block_of(model, plan, block * scale), false, nowhere);
  }
  stream.push(block_of(model, plan, 0), true, nowhere);
  return {most, counted.most_bytes()};
}

}  // namespace

StreamMemory stream_memory(const Model& model, const Plan& plan, int64_t block, const MemoryModel& memory) {
  const Sizes sizes = sizes_of(model.graph, plan);
  StreamMemory found;
  found.reserve_bytes = plan.reserve_bytes;
  found.delay_frames = delay_frames(model.graph, plan);
  if (plan.weights == WeightResidency::resident)
    found.weights_bytes = allocated_bytes(resident_weights_bytes(model.graph, sizes.storage()), sizes);
  // Steps that read frames ahead begin a clip with longer tiles. Their length depends on the first block's.
  for (int64_t first = found.delay_frames > 0 ? 1 : block; first <= block; ++first) {
    const auto [state, most] = counted_stream(model, plan, {first, block}, memory);
    found.state_bytes = std::max(found.state_bytes, state);
    found.peak_bytes = std::max(found.peak_bytes, found.weights_bytes + most);
  }
  return found;
}

}  // namespace headroom
