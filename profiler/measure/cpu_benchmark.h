#pragma once

#include <memory>

#include "decoder/cpu/cpu_device.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/cpu/tile.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/benchmark.h"
#include "profiler/measure/calls.h"

namespace headroom::profiler {

/// Operands of measured calls on the CPU, in memory of a pool.
class CpuOperands final : public Operands {
 public:
  /// The pool must outlive this object and its operands.
  CpuOperands(LimitedPool& pool, Dtype dtype);

  MapView next(int64_t rows, int64_t columns, int64_t channels) override {
    return cold_buffer_.next(rows, columns, channels);
  }
  DeviceTile tile(const Region& region, int64_t channels) override;
  KeptMap blocks(int64_t positions, int64_t channels) override;
  int64_t tile_bytes(int64_t values) const override;

 private:
  LimitedPool& pool_;
  const Dtype dtype_;
  ColdBuffer cold_buffer_;
};

/// Benchmark on the CPU. Runs calls one after another in a pool whose pages are already resident. Call
/// start_libraries() first.
class CpuBenchmark final : public Benchmark {
 public:
  /// `plan` is untiled. All references must outlive the benchmark.
  CpuBenchmark(const Graph& graph, const Plan& plan, const ParameterSource& weights, Clock clock,
               double target_error);

  DeviceKind device() const override { return DeviceKind::cpu; }
  Call operation_call(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows, int64_t columns) override;
  Call moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) override;
  Estimate seconds(const Call& call) override;
  int64_t live_bytes() const override { return pool_.live_bytes(); }
  void start_window() override { pool_.start_window(); }
  int64_t window_peak_bytes() const override { return pool_.window_peak_bytes(); }

 private:
  /// A device with the parameters of one operation, its kernel packed for one algorithm.
  struct Prepared {
    OpId op;
    ConvolutionAlgorithm algorithm;
    Weights weights;
    PlannedWeights planned;
    CpuDevice device;
    Calls calls;

    Prepared(CpuBenchmark& benchmark, OpId id, ConvolutionAlgorithm chosen);
  };

  const Graph& graph_;
  const Plan& plan_;
  const ParameterSource& weights_;
  const Clock clock_;
  const double target_error_;  ///< relative, for the repeated calls of one point
  LimitedPool pool_;
  CpuOperands operands_;
  std::shared_ptr<Prepared> prepared_;  ///< cache of the last one, since an operation's calls are consecutive
};

}  // namespace headroom::profiler
