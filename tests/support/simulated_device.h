#pragma once

#include <cstdint>

#include "decoder/lowering/memory.h"
#include "decoder/plan/plan.h"
#include "planner/cost/gpu_card.h"

namespace headroom::test {

/// The figures that docs/planning.md ("Costs") states, for work on a machine that was not profiled.
struct Assumptions {
  double convolution_flops_per_second = 170e9;
  double attention_flops_per_second = 200e9;
  double bytes_per_second = 3e9;  ///< of elementwise work: written
  double step_seconds = 30e-6;
  double winograd_share = 0.4, upsampled_winograd_share = 0.6;  ///< of the direct algorithm's time
  double transform_bytes_per_second = 4e9;
  double weights_bytes_per_second = 1e9;
  double host_bytes_per_second = 12e9;
  double scratch_bytes_per_second = 500e6;
  bool both_ways = false;   ///< below the device is written while it is read
  planner::GpuCard card{};  ///< on CUDA in place of the above, but for transfers
  MemoryModel memory{};     ///< workspace, reserve and the size of blocks
};
Assumptions assumptions_for(const Request& request);

/// Bytes that an allocation of this size takes from the pool.
int64_t pool_bytes(int64_t bytes, DeviceKind device);
/// A tile of all items.
int64_t tile_pool_bytes(int64_t values_of_item, const Sizes& sizes);
/// True where the operation is a convolution that Winograd's algorithm can run.
bool has_two_algorithms(const Graph& graph, const Op& op);
/// A kernel packed for that algorithm.
int64_t winograd_bytes(const Graph& graph, const Op& op);
/// Parameters of one operation as the device has them, each from a boundary.
int64_t parameter_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm, const Sizes& sizes);
/// Statistics and what follows from them, where these are on the device.
int64_t statistics_bytes(const Graph& graph, const Sizes& sizes);
/// Seconds of bringing all parameters in before the first pass.
double load_seconds(const Graph& graph, const Sizes& sizes, const Assumptions& assumptions);

/// The tensor whose positions a step goes over.
TensorId swept(const Step& step);
/// Seconds on the CPU of a step for each position of one item, without what it costs once per tile.
double seconds_per_position(const Graph& graph, const Step& step, ConvolutionAlgorithm algorithm,
                            const Sizes& sizes, const Assumptions& assumptions);

}  // namespace headroom::test
