#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "profiler/profile/profile.h"

namespace headroom::planner {

/// The latency tables of a profile, indexed by operation and tensor. Names are resolved once, in the
/// constructor. Refers to the graph, which must outlive it.
class LatencyLookup {
 public:
  LatencyLookup(const Graph& graph, const profiler::Profile& profile);

  /// Name of a latency table that a plan of this graph may need and the profile lacks. Empty if none is
  /// missing.
  const std::string& missing() const { return missing_; }
  /// The latency table of an operation with an algorithm that the device has. The table must exist.
  const profiler::LatencyTable& of(OpId op, ConvolutionAlgorithm algorithm) const {
    return latency_tables_[static_cast<size_t>(of_op_[static_cast<size_t>(algorithm)][index(op)])];
  }
  /// The latency table of a step. Covers accumulations and moves as well.
  const profiler::LatencyTable& of(const Step& step, ConvolutionAlgorithm algorithm) const;
  /// Seconds of one step over all tiles of its pass: every tile at its own extent, clipped at the picture's
  /// edges.
  double step_seconds(const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) const;
  /// Seconds of a step on one tile. `made` is the extent that the step computes there, in frames, rows and
  /// columns.
  double tile_seconds(const Step& step, ConvolutionAlgorithm algorithm, const Axes<double>& made,
                      const Sizes& sizes) const;
  /// A step with a call that is larger than its latency table covers.
  struct Beyond {
    size_t step = 0;
    double positions = 0;  ///< of the largest call; for attention, queries times keys
  };
  /// The first such step of a pass.
  std::optional<Beyond> beyond(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Bytes per second, read plus written, of the fastest measured copy.
  double copied_bytes_per_second(Dtype dtype) const;
  /// Lower bound on computing an operation's output once, for any tiling.
  double least_seconds(OpId op, const Sizes& sizes) const;

 private:
  const Graph* graph_;
  std::vector<profiler::LatencyTable> latency_tables_;
  std::array<std::vector<int32_t>, 2> of_op_;   // by algorithm, then by operation
  std::vector<int32_t> accumulate_;             // by operation; -1 if none
  std::vector<int32_t> gather_, store_, emit_;  // by tensor
  std::string missing_;
};

}  // namespace headroom::planner
