#pragma once

#include <memory>
#include <optional>

#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "profiler/measure/benchmark.h"
#include "profiler/measure/calls.h"

namespace headroom::profiler {

/// Operands of measured calls on a GPU, copied from a buffer of about a million values.
class GpuOperands final : public Operands {
 public:
  /// Allocates `cold_values` up front. All references must outlive this object.
  GpuOperands(GpuDevice& device, Dtype dtype, int64_t cold_values, PinnedStaging& staging);

  MapView next(int64_t rows, int64_t columns, int64_t channels) override {
    return cold_buffer_.next(rows, columns, channels);
  }
  DeviceTile tile(const Region& region, int64_t channels) override;
  KeptMap blocks(int64_t positions, int64_t channels) override;
  int64_t tile_bytes(int64_t values) const override;

 private:
  std::shared_ptr<void> take(int64_t values);
  void fill(void* memory, int64_t bytes);

  GpuDevice& device_;
  const Dtype dtype_;
  PinnedStaging& staging_;
  std::shared_ptr<void> drawn_;  ///< source of the operands' values
  ColdBuffer cold_buffer_;
};

/// Benchmark on a GPU. Repeats each call until launch and synchronization overhead are negligible. All its
/// memory is one reservation.
class GpuBenchmark final : public Benchmark {
 public:
  /// GPU memory that measuring latency tables needs.
  struct Need {
    int64_t bytes = 0;
    int64_t cold_values = 0;  ///< values of the largest tensor
  };
  /// `plan` is untiled and for one item. The latency tables cover the tensors of all `latents`. Throws
  /// DoesNotFit if a tile has more values than the libraries can index.
  static Need need(const Graph& graph, const Plan& plan, const std::vector<Extent>& latents);

  /// Reserves `need.bytes` and loads all parameters. All references and the clock must outlive the benchmark.
  /// Throws LimitExceeded.
  GpuBenchmark(const Graph& graph, const Plan& plan, const Need& need, const HostWeights& weights,
               gpu::Gpu& gpu, Clock clock);

  DeviceKind device() const override { return DeviceKind::cuda; }
  Call operation_call(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows, int64_t columns) override;
  Call moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) override;
  Estimate seconds(const Call& call) override;
  int64_t live_bytes() const override { return memory_->live_bytes(); }
  void start_window() override { memory_->start_window(); }
  int64_t window_peak_bytes() const override { return memory_->window_peak_bytes(); }

 private:
  /// Dry run: unlimited memory on a GPU that computes nothing.
  GpuBenchmark(const Graph& graph, const Plan& plan, int64_t cold_values, DryGpu& gpu);
  void prepare(int64_t cold_values);
  double batch_seconds(const Call& call, int64_t calls);
  void wait();

  const Graph& graph_;
  const Plan& plan_;
  gpu::Gpu& gpu_;
  const Clock clock_;
  const HostWeights weights_source_;
  std::optional<GpuReservation> reservation_;
  PinnedStaging staging_;
  const std::shared_ptr<GpuMemory> memory_;
  std::optional<GpuWeights> weights_;
  std::optional<GpuDevice> device_;
  std::optional<GpuOperands> operands_;
  std::optional<Calls> calls_;
};

}  // namespace headroom::profiler
