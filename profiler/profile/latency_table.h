#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// Cost of one kind of call by tile extent: a table over rows × columns. Between grid points the cost is
/// linear along each axis. This is exact for a constant term, a term per row and a term per position. The
/// slope changes where a library switches its algorithm. Rows of attention are queries, columns are keys.
///
/// Beyond the last grid point of an axis, the table continues with the slope of the last interval. This slope
/// is limited by two rates in seconds per row or column: at most the rate at the last grid point, and at
/// least the smaller of this rate and the rate at the table's largest extent.
struct LatencyTable {
  std::string name;              ///< kind of call, e.g. "conv 3x3 512->256"
  std::vector<int64_t> rows;     ///< grid points, ascending, at least one
  std::vector<int64_t> columns;  ///< grid points, ascending, at least one
  std::vector<double> seconds;   ///< of one call, row-major: rows × columns
  /// Peak pool bytes beside inputs and output; same order as `seconds`.
  std::vector<int64_t> workspace_bytes;
  int64_t held_out_points = 0;
  double held_out_error = 0;  ///< median relative error at measured points between the grid points
  /// Relative standard error of the measurements, averaged over points weighted by their time.
  double relative_error = 0;
  int64_t noisy_points = 0;  ///< points that did not reach the target precision
  friend bool operator==(const LatencyTable&, const LatencyTable&) = default;

  /// Seconds of one call with this extent. Both counts must be more than 0.
  double seconds_at(double row_count, double column_count) const;
  /// Largest workspace among the surrounding grid points, since libraries grow a workspace in steps.
  int64_t workspace_at(int64_t row_count, int64_t column_count) const;
  /// Lower bound on the seconds per position, over all extents.
  double least_seconds_per_position() const;
  /// Lower bound on the seconds per row for calls with this many columns.
  double least_seconds_per_row(double column_count) const;

  int64_t least_positions() const { return rows.front() * columns.front(); }
  int64_t most_positions() const { return rows.back() * columns.back(); }
  /// True if the table is valid for this many positions: up to four times the largest measured call. Beyond
  /// that the rates of the last two intervals must agree within 15 % plus the table's own error.
  bool covers(double positions) const;
};

/// Makes the times non-decreasing along both axes. If a call measured slower than a larger one, it was
/// disturbed.
void make_monotone(LatencyTable& latency_table);

/// Latency table name of an operation. The name holds its kind and every parameter that affects its cost,
/// except extents. Operations with equal names share a table. Convolutions that have a Winograd algorithm
/// have one table for each algorithm.
std::string latency_table_name(const Graph& graph, const Op& op,
                               ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::direct);
/// Latency table name of a step that moves whole pixels: "gather", "store", "emit" or "accumulate".
std::string moving_latency_table_name(const char* step, int64_t channels);

/// Number of device calls that a step makes, and the frames in each call. A call that covers several items
/// counts the frames of all of them.
struct CallsOfStep {
  double calls = 1;
  double frames_per_call = 1;
};
/// On the CPU one call covers all frames and items of a tile. On a GPU a call covers the frames of one item;
/// statistics and emit take one call per frame. Attention takes one call per frame on both devices.
CallsOfStep calls_of(OpKind kind, const DeviceRecord& device, double frames, double items);
/// Seconds of one attention call with this many queries of a frame. Averages over all frames, because the
/// number of attended keys may depend on the frame.
double attention_seconds(const LatencyTable& latency_table, const Graph& graph, const Op& op,
                         const Extent& latent, double queries);

/// Extent at which to look up an operation's latency table for a whole latent. Statistics use the extent of
/// the tensor that they measure. Attention uses the queries of one frame and the largest number of attended
/// keys.
Extent latency_table_extent(const Graph& graph, const Op& op, const Extent& latent);

}  // namespace headroom::profiler
