#pragma once

#include <cstdint>

#include "decoder/gpu/calls/reservation_sizes.h"

namespace headroom::planner {

/// What assumed costs know of a GPU: an H100 with 80 GB (SXM). docs/planning.md says where each figure comes
/// from. Rates of convolutions and of host memory were measured on such a card with PyTorch, those of
/// attention and of fp32 in decodes by Headroom; the others are estimates.
struct GpuCard {
  int64_t multiprocessors = 132;
  double dram_bytes_per_second = 3.0e12;
  double l2_bytes_per_second = 5.5e12;
  /// What a chain of steps finds again in the L2 cache. It has 50 MB, in two halves of which each keeps
  /// copies of what its own multiprocessors read.
  double l2_share_bytes = 35e6;
  /// Of convolutions with very many products a value, and 256 output channels or more, by tensor cores.
  double convolution_flops_per_second = 780e12;
  /// Products a value that filling and draining a multiprocessor's pipeline cost.
  double pipeline_products = 300;
  double attention_flops_per_second = 180e12;  ///< matrix products in chunks, softmax beside them
  double fp32_flops_per_second = 12e12;        ///< without tensor cores
  /// Of convolutions of several groups and of linear attention: few products a value.
  double narrow_flops_per_second = 5e12;
  double kernel_seconds = 2e-6;  ///< from the end of one kernel to the full speed of the next
  double launch_seconds = 5e-6;  ///< of the thread that launches, for each kernel
  /// For each pass: the first kernel of a pass needs the last one's statistics whole, so the card drains.
  double pass_seconds = 10e-6;
  double weights_bytes_per_second = 5e9;
  /// Copies between the card and pinned host memory, each way while both are busy, over PCIe Gen5 x16.
  double host_bytes_per_second = 44.9e9;
  double emitted_bytes_per_second = 54.7e9;  ///< to pinned host memory, one way
  ReservationSizes reservation = kLibtorchReservation;
};

}  // namespace headroom::planner
