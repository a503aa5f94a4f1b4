#pragma once

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

/// How fast a device is that was not profiled: the assumptions that docs/planning.md states.
struct DeviceRates {
  double convolution_flops_per_second = 0;  ///< of one group
  double attention_flops_per_second = 0;
  /// Grouped convolutions and linear attention, which do few multiply-adds for each value.
  double narrow_flops_per_second = 0;
  double bytes_per_second = 0;  ///< written by elementwise work; 0 on a GPU, which GpuCosts prices
  double step_seconds = 0;      ///< for each step and tile; 0 on a GPU
  double weights_bytes_per_second = 0;
  double transform_bytes_per_second = 0;  ///< kernels transformed for Winograd; 0 where there is none
  double host_bytes_per_second = 0;       ///< each way
  double scratch_bytes_per_second = 0;    ///< 0 where there is none
  /// Blocks are written below the device while others are read, each at its own rate.
  bool both_ways = false;
};
DeviceRates assumed_rates(DeviceKind device, Dtype dtype);

/// True where an operation's work is counted in FLOPs.
bool counts_flops(const Op& op);
/// Rate of an operation for which counts_flops() is true.
double flops_per_second(const DeviceRates& rates, const Op& op);

}  // namespace headroom::planner
