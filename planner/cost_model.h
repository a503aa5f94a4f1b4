#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/plan/memory.h"
#include "decoder/plan/plan.h"
#include "profiler/profile/profile.h"

namespace headroom {

/// What steps cost: seconds and workspace, from a profile of this machine or from stated assumptions.
///
/// A step's time is its work divided by a rate, plus a fixed time per tile. Work is FLOPs for convolutions and
/// attention, bytes written for everything else. Without a profile the rates are those of a two-core server
/// (docs/planning.md), and plans say so.
class CostModel {
 public:
  explicit CostModel(const Graph& graph);
  /// Rates per layer from the profile, at the profiled size nearest to the one that is planned.
  CostModel(const Graph& graph, const Profile& profile, const Request& request);

  bool assumed() const { return assumed_; }
  /// Workspace of the CPU's libraries and the reserve; for the builder.
  const MemoryModel& memory() const { return memory_; }

  /// Seconds of one step over all tiles of its pass.
  double step_seconds(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) const;
  double pass_seconds(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Loading parameters.
  double weights_seconds(int64_t bytes) const;
  /// Moving blocks between the device and a place below it.
  double read_seconds(Place place, double bytes) const;
  double write_seconds(Place place, double bytes) const;
  /// What computing the operation's whole output once takes at the least, however it is tiled.
  double least_seconds(const Graph& graph, OpId op, const Sizes& sizes) const;

 private:
  double seconds_per_work(OpId op) const { return seconds_per_work_[index(op)]; }
  std::vector<double> seconds_per_work_;  ///< by operation
  MemoryModel memory_;
  bool assumed_ = true;
};

/// FLOPs of a pass, halos included.
double pass_flops(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes);

}  // namespace headroom
