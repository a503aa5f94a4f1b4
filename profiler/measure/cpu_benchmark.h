#pragma once

#include <memory>

#include "decoder/cpu/pool.h"
#include "decoder/cpu/tile.h"
#include "profiler/measure/clock.h"
#include "profiler/measure/cpu_calls.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// The CPU: one call after the other on memory of a pool whose pages are there already. start_libraries()
/// first.
class CpuBenchmark final : public Benchmark {
 public:
  CpuBenchmark(const Graph& graph, Dtype dtype, Clock clock);

  DeviceKind device() const override { return DeviceKind::cpu; }
  Call operation_call(const Op& op, ConvolutionAlgorithm form, int64_t rows, int64_t columns) override;
  Call moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) override;
  double seconds(const Call& call) override;
  double reference_seconds() override;
  double steady_clock_drift_seconds() const override { return 20e-3; }
  int64_t live_bytes() const override { return pool_.live_bytes(); }
  void start_window() override { pool_.start_window(); }
  int64_t window_peak_bytes() const override { return pool_.window_peak_bytes(); }

 private:
  const Clock clock_;
  Pool pool_;
  const CpuCalls calls_;
  Tile input_, output_;  ///< of the reference
  std::shared_ptr<float> kernel_, bias_;
};

}  // namespace headroom::profiler
