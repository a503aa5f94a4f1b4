#pragma once

#include "decoder/cpu/cpu_steps.h"

namespace headroom {

/// Runs one step after another on the CPU, each on all threads. Memory comes from the pool. Tiles are fp32.
class CpuDevice final : public Device, private DeviceStatistics {
 public:
  /// All references must outlive the device.
  CpuDevice(const Graph& graph, const Sizes& sizes, PlannedWeights& weights, LimitedPool& pool)
      : steps_{graph, sizes, weights, pool} {}

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries&) override;
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override;
  MemoryMeter& memory() override { return steps_.pool; }

  void load_latent(const ArrayView& latent, int64_t first_item, const MapView& view, int64_t items) override;
  void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
            const std::string& layer, PictureSink& sink) override;
  void finish_output() override {}
  void watch_calls(const CallShare& on_share) override { steps_.on_share = on_share; }

  void begin_pass(size_t pass) override { steps_.weights.begin_pass(pass); }
  void end_pass() override { steps_.weights.end_pass(); }

  DeviceStatistics& statistics() override { return *this; }
  void run(const StepCall& call) override;
  void round(const MapView& tile, int64_t items) override;
  void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) override;

 private:
  void begin(TensorId id, int64_t items, const Interval& frames) override;
  std::vector<double> values(const std::vector<TensorId>& ids) override;
  void set_values(const std::vector<TensorId>& ids, const std::vector<double>& values) override;
  void check(TensorId id, const std::string& layer) override;
  void forget(TensorId id) override;

  std::vector<double> values_of(TensorId id) const;

  CpuSteps steps_;
};

}  // namespace headroom
