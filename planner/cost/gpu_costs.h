#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "decoder/schedule/tiles.h"
#include "planner/cost/device_costs.h"
#include "planner/cost/gpu_work.h"
#include "planner/cost/latency_lookup.h"

namespace headroom::planner {

/// Timing data of a GPU: the assumptions about a card, or measurements. With measurements, only the card's L2
/// cache size and DRAM rate are used.
struct GpuTimes {
  GpuCard card;
  std::shared_ptr<const LatencyLookup> measured = nullptr;
};

/// The steps of a pass on one tile of a GPU, in order. The time of a step depends on the data that earlier
/// steps left in the L2 cache.
///
///     norm        reads x from DRAM       writes a
///     conv        reads a                 writes b      a band of few rows: a and b are still in L2
///     store       reads b                 writes y to DRAM
///     statistics  reads b                               nothing else moves, so b moves at L2's rate
///
/// The planner counts the bytes moved between two steps that touch a tensor twice: from start to start, and
/// from end to end. The second step finds the tensor in L2 if neither count exceeds the cache's share. If all
/// readers of a tile find it in L2, the tile is not written to DRAM either: the next tile overwrites it.
///
/// A step takes the longest of three times: its arithmetic, all its bytes at L2's rate, and the bytes that
/// miss L2 at DRAM's rate. On a profiled card it takes the longer of two times: the step's measured time, and
/// the bytes that miss L2 in the chain at DRAM's rate. The step was measured alone, so small tiles were in L2
/// at that time.
class TileChain {
 public:
  /// `pass` and `times` must outlive the chain.
  TileChain(const Graph& graph, const Pass& pass, const GpuTimes& times, const Sizes& sizes);

  struct Cost {
    double seconds = 0;
    int64_t kernels = 0;
  };
  /// Cost of a tile of these classes.
  Cost cost(const TileClass& chunk, const TileClass& rows, const TileClass& columns);
  /// Seconds of each step in the last call of cost().
  const std::vector<double>& step_seconds() const { return step_seconds_; }

 private:
  struct Read {
    size_t place = 0;
    double bytes = 0;  ///< for each position of one item
  };
  struct Link {
    StepWork work;
    std::vector<Read> reads{};
    double written = 0, emitted = 0;
    double moved = 0, moved_if_narrow = 0;  ///< with the copy of copies_if_narrow
    bool keeps = false;
    int32_t rewrites = 0;
    /// True if a tile narrower than the picture costs one more copy. A library copies to write rows with gaps
    /// between them, and it cannot add a residual whose rows have another stride than its output.
    bool copies_if_narrow = false;
    int64_t columns = 0;  ///< of the picture
    FrameCalls frame_calls{};
    size_t place = 0;              ///< place that the step writes
    double carried_of_area = 0;    ///< bytes for each row and column, in chunks after the first
    double carried_of_column = 0;  ///< bytes for each column and frame, in bands after the first
    int64_t kernels = 0;           ///< of a tile
    int64_t call_kernels = 0;      ///< additional kernels for each call of frame_calls
  };
  /// A tensor in memory: the tile of a step, or a kept tensor.
  struct Place {
    /// Bytes moved in the tile when the last step to touch it began, and ended. Infinitely long ago if no
    /// step has touched it.
    double begin = -std::numeric_limits<double>::infinity(), end = begin;
    bool missed = false;  ///< a reader did not find it

    void touch(double step_begin, double step_end) {
      begin = step_begin;
      end = step_end;
    }
  };

  void find_missed();
  /// Excludes kernel starts and carried positions.
  double assumed_seconds(size_t step, const CallExtent& call) const;
  double measured_seconds(size_t step, const Axes<double>& made) const;
  double missed_write(size_t step) const;

  const GpuCard& card_;
  const LatencyLookup* const measured_;  ///< null if costs are assumed
  const Pass& pass_;
  const Sizes sizes_;
  std::vector<Link> links_;
  // State of the tile in the current call of cost().
  std::vector<int32_t> rewrites_;  ///< by step
  std::vector<Place> places_;
  std::vector<double> positions_, missed_reads_, step_seconds_;
};

/// Lower bound on a step that computes its whole tensor, for any tiling and any steps around it.
double least_step_seconds(const Graph& graph, const Step& step, const GpuCard& card, const Sizes& sizes);

/// Time of passes on a GPU, tile by tile (docs/planning.md, "Time on a GPU"). Refers to the graph, which must
/// outlive it.
class GpuCosts {
 public:
  GpuCosts(const Graph& graph, const GpuCard& card) : graph_(&graph), times_{card} {}
  /// For a profiled card, in this dtype.
  GpuCosts(const Graph& graph, std::shared_ptr<const LatencyLookup> measured, Dtype dtype);

  double pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// pass_seconds() for each combination of height and width. Widths vary fastest in the result. Infinity for
  /// those that `wanted` excludes; empty: all are wanted.
  std::vector<double> shape_seconds(const Pass& pass, int64_t frames, const std::vector<int64_t>& heights,
                                    const std::vector<int64_t>& widths, const Sizes& sizes,
                                    const std::vector<bool>& wanted) const;
  /// Seconds of each step over all tiles of the pass. Excludes time that only the pass as a whole has: kernel
  /// launches that take longer than the kernels, and the wait before the next pass.
  std::vector<double> step_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const;
  /// Lower bound, by assumed costs, on computing the operation's whole output once, for any tiling.
  double least_seconds(OpId op, const Sizes& sizes) const;
  /// Lower bound, by assumed costs, on writing a whole tensor to its blocks.
  double least_store_seconds(TensorId tensor, const Sizes& sizes) const;
  /// Seconds of copies within the card's memory, one after another. `copied_bytes` has the size of each.
  double copies_seconds(std::span<const int64_t> copied_bytes) const;

 private:
  /// measured_axes() along each axis.
  Axes<std::vector<TileAxis>> axes_of(const Pass& pass, const Sizes& sizes) const;

  const Graph* graph_;
  GpuTimes times_;
};

}  // namespace headroom::planner
