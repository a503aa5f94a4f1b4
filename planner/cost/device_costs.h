#pragma once

#include <cstdint>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/memory.h"

namespace headroom::planner {

/// Assumed speed of a device that was not profiled (docs/planning.md).
struct DeviceRates {
  double convolution_flops_per_second = 0;  ///< convolutions with a single group
  double attention_flops_per_second = 0;
  /// Grouped convolutions and linear attention, which do few multiply-adds for each value.
  double narrow_flops_per_second = 0;
  double bytes_per_second = 0;  ///< written by elementwise work; 0 on a GPU, which GpuCosts prices
  double step_seconds = 0;      ///< for each step and tile; 0 on a GPU
  double weights_bytes_per_second = 0;
  double transform_bytes_per_second = 0;  ///< transformed Winograd kernels; 0 if the device has no Winograd
  double host_bytes_per_second = 0;       ///< each way
  double scratch_bytes_per_second = 0;    ///< 0 if the device has no scratch tier
  /// Writes to a lower tier run in parallel with reads, each at its own rate.
  bool both_ways = false;
};
DeviceRates assumed_rates(const DeviceRecord& device, Dtype dtype, Tf32 tf32 = {});

/// True if an operation's work is counted in FLOPs.
bool counts_flops(const Op& op);
/// Rate of an operation for which counts_flops() is true.
double flops_per_second(const DeviceRates& rates, const Op& op);

/// A GPU as assumed costs describe it. The defaults are an H100 with 80 GB (SXM). docs/planning.md gives the
/// source of each figure. Rates of convolutions and of host memory were measured on such a card with PyTorch.
/// Rates of attention in 16 bits and of narrow fp32 convolutions were measured in decodes by Headroom. The
/// other figures are estimates.
struct GpuCard {
  int64_t multiprocessors = 132;
  double dram_bytes_per_second = 3.0e12;
  double l2_bytes_per_second = 5.5e12;
  /// Part of the L2 cache that keeps data between steps. The cache has 50 MB in two halves. Each half keeps
  /// copies of the data that its own multiprocessors read.
  double l2_share_bytes = 35e6;
  /// Tensor-core rate of convolutions with very many multiply-adds per value and 256 output channels or more.
  double convolution_flops_per_second = 780e12;
  /// Cost of filling and draining a multiprocessor's pipeline, in multiply-adds per value.
  double pipeline_products = 300;
  double attention_flops_per_second = 180e12;  ///< matrix products in chunks, with softmax between them
  /// fp32 without tensor cores: convolutions by cuDNN's fastest engine, by its next one, and attention.
  double fp32_convolution_flops_per_second = 26e12;
  double fp32_narrow_convolution_flops_per_second = 12e12;
  double fp32_attention_flops_per_second = 45e12;
  /// fp32 on tensor cores, which round inputs to TF32. The rate of convolutions depends on their products as
  /// that of 16 bits does.
  double tf32_convolution_flops_per_second = 330e12;
  double tf32_attention_flops_per_second = 105e12;
  /// Grouped convolutions and linear attention, which do few multiply-adds for each value.
  double narrow_flops_per_second = 5e12;
  double kernel_seconds = 2e-6;  ///< from the end of one kernel to the full speed of the next
  double launch_seconds = 5e-6;  ///< time of the launching thread for each kernel
  /// Added for each pass. Its first kernel waits for the previous pass's statistics, so the GPU's pipeline
  /// drains.
  double pass_seconds = 10e-6;
  /// Packed parameters to the card. A decode of SDXL copied 99 MB in 141 copies, which took 3.44 ms
  /// (reports/results/gpu-measure.md). One copy from pinned memory is faster (53.8e9), but then plans that
  /// load parameters in every pass would look faster than those that load them once.
  double weights_bytes_per_second = 29e9;
  /// Copies between the card and pinned host memory, each way while both are busy, over PCIe Gen5 x16.
  double host_bytes_per_second = 44.9e9;
  double emitted_bytes_per_second = 54.7e9;  ///< to pinned host memory, one way
  ReservationSizes reservation = kLibtorchReservation;

  /// The card whose costs are assumed for this kind of device.
  static GpuCard assumed(DeviceKind device);

  double attention_rate(Dtype dtype, bool tf32) const {
    if (dtype != Dtype::fp32) return attention_flops_per_second;
    return tf32 ? tf32_attention_flops_per_second : fp32_attention_flops_per_second;
  }
  /// Rates of convolutions with very many multiply-adds per value and 16 inputs or more.
  double convolution_rate(Dtype dtype, bool tf32) const {
    if (dtype != Dtype::fp32) return convolution_flops_per_second;
    return tf32 ? tf32_convolution_flops_per_second : fp32_convolution_flops_per_second;
  }
};

/// Number of threads assumed in plans: the processors that this process may use, but at least two.
int64_t planned_threads();

/// Workspace and reserve of a decode on the CPU with at most `threads` threads.
MemoryModel cpu_memory_model(const Graph& graph, int64_t threads = planned_threads());

/// Workspace of a decode on CUDA. There is no reserve, because a decode allocates nothing beyond its initial
/// reservation.
MemoryModel cuda_memory_model(const Graph& graph);

MemoryModel memory_model_of(const Graph& graph, const DeviceRecord& device);

}  // namespace headroom::planner
