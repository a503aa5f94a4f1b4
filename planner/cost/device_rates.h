#pragma once

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

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
DeviceRates assumed_rates(DeviceKind device, Dtype dtype, Tf32 tf32 = {});

/// True if an operation's work is counted in FLOPs.
bool counts_flops(const Op& op);
/// Rate of an operation for which counts_flops() is true.
double flops_per_second(const DeviceRates& rates, const Op& op);

}  // namespace headroom::planner
