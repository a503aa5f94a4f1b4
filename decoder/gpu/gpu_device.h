#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_steps.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/gpu/transfers/card_weights.h"
#include "decoder/gpu/transfers/gpu_output.h"
#include "decoder/gpu/transfers/gpu_weights.h"
#include "decoder/gpu/transfers/pinned_staging.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/schedule/gpu_layout.h"

namespace headroom {

/// Sources of a GPU's parameters. All of them must outlive the device.
struct WeightSource {
  const HostWeights& values;              ///< for passes that load their weights from pageable memory
  const GpuWeights* resident = nullptr;   ///< all parameters, if they stay on the GPU
  const PinnedWeights* pinned = nullptr;  ///< for passes that load their weights from pinned memory
  /// By pass, how early weights can be copied from pinned memory. Null: each pass copies its weights when it
  /// begins.
  const std::vector<WeightsAhead>* ahead = nullptr;
  const CardWeights* card = nullptr;  ///< for passes that pack their weights on the GPU
};

/// A Device that queues steps as calls on a GPU's compute stream, item by item. Steps wait for the GPU only
/// when they need a staging buffer. Tiles have the plan's dtype.
class GpuDevice : public Device, private DeviceStatistics {
 public:
  /// Works on the GPU of `staging`. All references must outlive the device.
  GpuDevice(const Graph& graph, const Plan& plan, GpuMemory& memory, const WeightSource& weights,
            PinnedStaging& staging);
  ~GpuDevice() override;

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries& series) override;
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override;
  MemoryMeter& memory() override { return steps_.memory; }
  std::shared_ptr<void> allocate_state(const StatePlace& place, int64_t bytes) override {
    return steps_.memory.allocate_state(place, bytes);
  }
  DeviceTile make_state_tile(const StatePlace& place, const Region& region, int64_t channels,
                             int64_t items) override;

  void load_latent(const ArrayView& latent, int64_t first_item, const MapView& view, int64_t items) override;
  void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
            const std::string& layer, PictureSink& sink) override;
  void finish_output() override;
  double output_wait_seconds() const override { return output_.wait_seconds(); }

  std::map<const void*, void*> move_blocks() override;
  void begin_pass(size_t pass) override;
  void end_pass() override { of_pass_.reset(); }

  void finish_work() override { steps_.gpu.wait_on_host(steps_.gpu.record(gpu::Stream::compute)); }
  HostCopies* host_copies() override { return &copies_; }

  DeviceStatistics& statistics() override { return *this; }
  void run(const StepCall& call) override;
  void round(const MapView&, int64_t) override {}  // tiles are stored in the plan's dtype
  void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) override;

 private:
  void begin(TensorId id, int64_t items, const Interval& frames) override;
  std::vector<double> values(const std::vector<TensorId>& ids) override;
  void set_values(const std::vector<TensorId>& ids, const std::vector<double>& values) override;
  void check(TensorId id, const std::string& layer) override;
  void forget(TensorId) override {}

  /// `allocate(item, bytes)` returns an item's memory.
  template <typename Allocate>
  DeviceTile tile_of(const Region& region, int64_t channels, int64_t items, const Allocate& allocate);
  void bring_weights(size_t pass);
  /// Queues the copy of the next pass's weights if their place is free.
  void bring_next_weights();
  gpu::Event copy_weights(size_t pass, std::byte* to);
  void make_affines(const Pass& pass);
  /// Memory ranges of the statistics on the GPU: tensor by tensor, item by item.
  std::vector<Span> statistics_spans(const std::vector<TensorId>& ids) const;

  GpuSteps steps_;
  const Plan& plan_;
  const WeightSource weights_;
  PinnedStaging& staging_;
  StagedCopies copies_;
  GpuOutput output_;
  std::optional<GpuWeights> of_pass_;
  size_t pass_ = 0;
  std::optional<gpu::Event> next_weights_;  ///< copy of the next pass's weights, once queued
};

/// A GpuDevice that neither loads a latent nor emits pixels.
class DryDevice final : public GpuDevice {
 public:
  using GpuDevice::GpuDevice;

  void load_latent(const ArrayView&, int64_t, const MapView&, int64_t) override {}
  void emit(const MapView&, const Region&, int64_t, int64_t, const std::string&, PictureSink&) override {}
};

}  // namespace headroom
