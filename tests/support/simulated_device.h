#pragma once

#include <cstdint>

#include "decoder/plan/plan.h"
#include "decoder/schedule/memory.h"
#include "planner/cost/device_costs.h"

namespace headroom::test {

/// Assumed costs on an unprofiled machine, from docs/planning.md ("Costs").
struct Assumptions {
  double convolution_flops_per_second = 170e9;
  double attention_flops_per_second = 200e9;
  double bytes_per_second = 3e9;  ///< written by elementwise operations
  double step_seconds = 30e-6;
  double winograd_share = 0.4, upsampled_winograd_share = 0.6;  ///< time relative to the direct algorithm
  double transform_bytes_per_second = 4e9;
  double weights_bytes_per_second = 1e9;
  double host_bytes_per_second = 12e9;
  double scratch_bytes_per_second = 500e6;
  bool both_ways = false;   ///< transfers to and from the lower tier overlap
  planner::GpuCard card{};  ///< replaces the above on CUDA, except for transfers
  MemoryModel memory{};     ///< workspace, reserve and block size
};
Assumptions assumptions_for(const Request& request);

/// Bytes that the pool allocates for a request of this size.
int64_t pool_bytes(int64_t bytes, DeviceKind device);
/// Pool bytes of a tile that holds all items.
int64_t tile_pool_bytes(int64_t values_of_item, const Sizes& sizes);
/// True if the operation is a convolution that supports Winograd's algorithm.
bool has_two_algorithms(const Graph& graph, const Op& op);
/// Bytes of a kernel packed for Winograd's algorithm.
int64_t winograd_bytes(const Graph& graph, const Op& op);
/// Bytes of an operation's parameters on the device, including alignment.
int64_t parameter_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm, const Sizes& sizes);
/// Bytes of statistics and of values derived from them. 0 if they are not on the device.
int64_t statistics_bytes(const Graph& graph, const Sizes& sizes);
/// Seconds to load all parameters before the first pass.
double load_seconds(const Graph& graph, const Sizes& sizes, const Assumptions& assumptions);

/// Tensor whose positions the step iterates over.
TensorId swept(const Step& step);
/// CPU seconds of a step per position of one item. Excludes the fixed cost of each tile.
double seconds_per_position(const Graph& graph, const Step& step, ConvolutionAlgorithm algorithm,
                            const Sizes& sizes, const Assumptions& assumptions);

}  // namespace headroom::test
