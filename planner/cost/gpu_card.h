#pragma once

#include <cstdint>

#include "decoder/gpu/calls/reservation_sizes.h"

namespace headroom::planner {

/// A GPU as assumed costs describe it: an H100 with 80 GB (SXM). docs/planning.md gives the source of each
/// figure. Rates of convolutions and of host memory were measured on such a card with PyTorch. Rates of
/// attention and of fp32 were measured in decodes by Headroom. The other figures are estimates.
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
  double fp32_flops_per_second = 12e12;        ///< without tensor cores
  /// Grouped convolutions and linear attention, which do few multiply-adds for each value.
  double narrow_flops_per_second = 5e12;
  double kernel_seconds = 2e-6;  ///< from the end of one kernel to the full speed of the next
  double launch_seconds = 5e-6;  ///< time of the launching thread for each kernel
  /// Added for each pass. Its first kernel waits for the previous pass's statistics, so the GPU's pipeline
  /// drains.
  double pass_seconds = 10e-6;
  double weights_bytes_per_second = 5e9;
  /// Copies between the card and pinned host memory, each way while both are busy, over PCIe Gen5 x16.
  double host_bytes_per_second = 44.9e9;
  double emitted_bytes_per_second = 54.7e9;  ///< to pinned host memory, one way
  ReservationSizes reservation = kLibtorchReservation;
};

}  // namespace headroom::planner
