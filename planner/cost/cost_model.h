#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/lowering/memory.h"
#include "decoder/plan/plan.h"
#include "planner/cost/gpu_costs.h"
#include "planner/cost/latency_lookup.h"
#include "profiler/profile/profile.h"

namespace headroom::planner {

/// Costs of steps: seconds and workspace, from a profile of this machine or from stated assumptions.
///
/// With a profile a step's time is that of its latency table at the extent of each of its tiles. Without one
/// it is its work divided by a rate, plus a fixed time per tile; work is FLOPs for convolutions and
/// attention, bytes for everything else. Rates that nothing measured are those of a two-core server
/// (planner/cost/device_rates.h), and plans say so. On a GPU tiles are priced step after step, with what
/// caches hold (planner/cost/gpu_costs.h).
///
/// Refers to the graph, which must outlive it.
class CostModel {
 public:
  explicit CostModel(const Graph& graph, DeviceKind device = DeviceKind::cpu);
  /// Assumed costs of this card.
  CostModel(const Graph& graph, const GpuCard& card);
  /// The profile's latency tables. std::logic_error where one is missing: check_profiled_model() refuses such
  /// profiles.
  CostModel(const Graph& graph, const profiler::Profile& profile, const Request& request);

  bool assumed() const { return assumed_; }
  DeviceKind device() const { return device_; }
  /// Workspace of the device's libraries and the reserve; for the builder.
  const MemoryModel& memory() const { return memory_; }
  /// Plans allow for so much more growth outside the pool.
  void add_reserve(int64_t bytes) { memory_.reserve_bytes += bytes; }
  /// Sizes that one allocation of a plan's memory takes: of every size on the CPU.
  const ReservationSizes& reservation() const { return reservation_; }
  /// The machine and libraries that were profiled; empty texts for assumed costs.
  const Environment& environment() const { return environment_; }
  /// Null where there are none.
  const LatencyLookup* latency_tables() const { return latency_tables_.get(); }
  /// Standard error that is common to all latency tables, relative; 0 where there are none.
  double common_error() const { return common_error_; }
  /// False where a latency table says nothing of calls as large as those of this tile.
  bool covers(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Seconds of one step over all tiles of its pass, of which it must be one.
  double step_seconds(const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) const;
  double pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Loading parameters: `bytes` of them, with kernels packed for the direct algorithm.
  double weights_seconds(int64_t bytes) const;
  /// Transforming kernels for the Winograd algorithm, `bytes` of them once they are.
  double transform_seconds(int64_t bytes) const;
  /// Seconds that a pass moves data between the device and a lower tier. If a single thread does all
  /// transfers, writes count as reads.
  struct Transfers {
    double read_seconds = 0, written_seconds = 0;
  };
  void add_transfer(Transfers& transfers, MemoryTier tier, bool written, double bytes) const;
  /// Seconds of a pass of so many bands. Transfers of other bands overlap with the compute of one.
  static double sweep_seconds(double compute, const Transfers& transfers, size_t bands);
  /// pass_seconds() of tiles of so many frames for each height with each width, height by height, by the
  /// pass's algorithm of convolutions.
  std::vector<double> shape_seconds(const Pass& pass, int64_t frames, const std::vector<int64_t>& heights,
                                    const std::vector<int64_t>& widths, const Sizes& sizes) const;
  /// Lower bound on computing the operation's whole output once, for any tiling.
  double least_seconds(OpId op, const Sizes& sizes) const;
  /// Seconds that an attention waits for keys and values in a lower tier, beyond its own compute time.
  /// `bytes`: all keys and values, counted once for each tile of queries, since every tile reads them again.
  /// Every frame of queries reads the frames up to the last one that it attends to.
  double staging_seconds(OpId attention, MemoryTier tier, int64_t bytes, const Sizes& sizes) const;
  /// Seconds of copies within the device's memory, one after another, each of so many bytes.
  double copies_seconds(std::span<const int64_t> copied_bytes) const;
  /// Lower bound on writing a whole tensor to its blocks.
  double least_store_seconds(TensorId tensor, const Sizes& sizes) const;

 private:
  struct StepRates {
    double per_tile = 0, per_position = 0;
  };
  StepRates rates_of(const Step& step, ConvolutionAlgorithm algorithm, const Sizes& sizes) const;
  /// Compute time of an attention.
  double attention_seconds(OpId op, const Sizes& sizes) const;
  /// For one item, at assumed rates.
  double seconds_per_position(OpId op, ConvolutionAlgorithm algorithm, const Sizes& sizes) const;

  const Graph* graph_;
  DeviceKind device_;
  bool both_ways_ = false;  ///< blocks are written below the device while others are read
  std::shared_ptr<const LatencyLookup> latency_tables_;  ///< null without
  std::optional<GpuCosts> gpu_;                          ///< of a GPU
  Environment environment_;
  double weights_bytes_per_second_ = 0;  ///< parameters brought onto the device
  double transform_bytes_per_second_ = 0;
  double to_host_bytes_per_second_ = 0, from_host_bytes_per_second_ = 0;
  double scratch_write_bytes_per_second_ = 0, scratch_read_bytes_per_second_ = 0;
  MemoryModel memory_;
  ReservationSizes reservation_;
  bool assumed_ = true;
  double common_error_ = 0;
};

/// FLOPs of a pass, halos included.
double pass_flops(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes);

}  // namespace headroom::planner
