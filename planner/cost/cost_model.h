#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/schedule/memory.h"
#include "planner/cost/gpu_costs.h"
#include "planner/cost/latency_lookup.h"
#include "profiler/profile/profile.h"

namespace headroom::planner {

/// Costs of steps: seconds and workspace, from a profile of this machine or from stated assumptions.
///
/// With a profile, a step's time comes from its latency table, at the extent of each of its tiles. Without
/// one, the time is the step's work divided by a rate, plus a fixed time for each tile. Work is FLOPs for
/// convolutions and attention, and bytes for everything else. Rates that were not measured are those of a
/// two-core server (planner/cost/device_costs.h), and plans state that. On a GPU the model prices the steps
/// of a tile in order and tracks the L2 cache (planner/cost/gpu_costs.h).
///
/// Refers to the graph, which must outlive it.
class CostModel {
 public:
  explicit CostModel(const Graph& graph, DeviceKind device = DeviceKind::cpu);
  /// Assumed costs of this card.
  CostModel(const Graph& graph, const GpuCard& card);
  /// Costs from the profile's latency tables. Throws std::logic_error if a table is missing;
  /// check_profiled_model() rejects such profiles.
  CostModel(const Graph& graph, const profiler::Profile& profile, const Request& request);

  bool assumed() const { return assumed_; }
  /// Correction of shown seconds (planner/answer/learnt.h). The costs below do not contain it, so that it
  /// changes no choice of the search.
  const LearntSeconds& learnt() const { return learnt_; }
  void set_learnt(const LearntSeconds& learnt) { learnt_ = learnt; }
  const DeviceRecord& device() const { return *device_; }
  /// Workspace of the device's libraries and the reserve. build_plan() needs them.
  const MemoryModel& memory() const { return memory_; }
  /// Adds `bytes` to the reserve for memory growth outside the pool.
  void add_reserve(int64_t bytes) { memory_.reserve_bytes += bytes; }
  /// Sizes that the allocation of a plan's whole memory can have. On the CPU every size is possible.
  const ReservationSizes& reservation() const { return reservation_; }
  /// The machine and libraries that were profiled; empty texts for assumed costs.
  const Environment& environment() const { return environment_; }
  /// Engines of a GPU library that the profile found to be faster than the library's own choice.
  const std::vector<EngineChoice>& engines() const { return engines_; }
  /// Null if costs are assumed.
  const LatencyLookup* latency_tables() const { return latency_tables_.get(); }
  /// Relative standard error that all latency tables share; 0 without tables.
  double common_error() const { return common_error_; }
  /// False if the tile makes a call that is larger than a latency table covers.
  bool covers(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Seconds of one step over all tiles of its pass. `step` must belong to `pass`.
  double step_seconds(const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) const;
  double pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Seconds to load `bytes` of parameters, with kernels packed for the direct algorithm.
  double weights_seconds(int64_t bytes) const;
  /// Seconds to transform kernels for the Winograd algorithm into `bytes` of transformed kernels.
  double transform_seconds(int64_t bytes) const;
  /// Seconds that a pass moves data between the device and a lower tier. If a single thread does all
  /// transfers, writes count as reads.
  struct Transfers {
    double read_seconds = 0, written_seconds = 0;
  };
  void add_transfer(Transfers& transfers, MemoryTier tier, bool written, double bytes) const;
  /// Seconds of a pass with this number of bands. Transfers of one band overlap with the compute of another.
  static double sweep_seconds(double compute, const Transfers& transfers, size_t bands);
  /// pass_seconds() for tiles of `frames` frames and each combination of height and width. Widths vary
  /// fastest in the result. Uses the pass's convolution algorithms. Combinations that `wanted` excludes may
  /// be left out, as infinity; empty: all are wanted.
  std::vector<double> shape_seconds(const Pass& pass, int64_t frames, const std::vector<int64_t>& heights,
                                    const std::vector<int64_t>& widths, const Sizes& sizes,
                                    const std::vector<bool>& wanted = {}) const;
  /// Lower bound on computing the operation's whole output once, for any tiling.
  double least_seconds(OpId op, const Sizes& sizes) const;
  /// Seconds that an attention waits for keys and values in a lower tier, beyond its own compute time.
  /// `bytes` counts all keys and values once for each tile of queries, since every tile reads them again. A
  /// frame of queries reads all frames up to the last one that it attends to.
  double staging_seconds(OpId attention, MemoryTier tier, int64_t bytes, const Sizes& sizes) const;
  /// Seconds of copies within the device's memory, one after another. `copied_bytes` has the size of each.
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
  /// Assumed seconds for each position of one item.
  double seconds_per_position(OpId op, ConvolutionAlgorithm algorithm, const Sizes& sizes) const;

  const Graph* graph_;
  const DeviceRecord* device_;
  bool both_ways_ = false;  ///< writes to a lower tier run in parallel with reads
  std::shared_ptr<const LatencyLookup> latency_tables_;  ///< null if costs are assumed
  std::optional<GpuCosts> gpu_;                          ///< set if the device is a GPU
  Environment environment_;
  std::vector<EngineChoice> engines_;
  double weights_bytes_per_second_ = 0;  ///< loading parameters onto the device
  double transform_bytes_per_second_ = 0;
  double to_host_bytes_per_second_ = 0, from_host_bytes_per_second_ = 0;
  double scratch_write_bytes_per_second_ = 0, scratch_read_bytes_per_second_ = 0;
  MemoryModel memory_;
  ReservationSizes reservation_;
  bool assumed_ = true;
  LearntSeconds learnt_;
  double common_error_ = 0;
};

/// FLOPs of a pass, halos included.
double pass_flops(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes);

}  // namespace headroom::planner
