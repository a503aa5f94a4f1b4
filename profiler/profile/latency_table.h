#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/lowering/convolution.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// Cost of one kind of call by the extent of the tile that it makes: a table over rows × columns, linear
/// along each axis between its knots. So it is exact for a cost with a constant term, a term for each row and
/// one for each position. Where a library switches its algorithm, the slope changes. For attention rows are
/// queries and columns keys.
///
/// Beyond the last knot the last interval goes on, at a rate between its own and the one at the far corner of
/// the table.
struct LatencyTable {
  std::string name;              ///< what was called, e.g. "conv 3x3 512->256"
  std::vector<int64_t> rows;     ///< knots, ascending, at least one
  std::vector<int64_t> columns;  ///< the same
  std::vector<double> seconds;   ///< of one call: rows × columns, row by row
  std::vector<int64_t>
      workspace_bytes;  ///< pool bytes beside inputs and output at the call's highest moment; the same order
  int64_t held_out_points = 0;
  double held_out_error = 0;  ///< median relative error at points that were measured and are no knots
  /// Standard error of what was measured, relative, on average over the time of its points.
  double relative_error = 0;
  int64_t noisy_points = 0;  ///< whose precision was not reached
  friend bool operator==(const LatencyTable&, const LatencyTable&) = default;

  /// Seconds of one call that makes this many rows and columns; both more than 0.
  double seconds_at(double row_count, double column_count) const;
  /// The largest of the knots around: a library takes what it takes in steps.
  int64_t workspace_at(int64_t row_count, int64_t column_count) const;
  /// No extent costs less than this for each position.
  double least_seconds_per_position() const;
  /// No number of rows costs less than this for each of them where a call has this many columns.
  double least_seconds_per_row(double column_count) const;

  int64_t least_positions() const { return rows.front() * columns.front(); }
  int64_t most_positions() const { return rows.back() * columns.back(); }
  /// True if the table is valid for so many positions: up to four times the largest measured call. Beyond
  /// that the rates of the last two intervals must agree within 15 % and the table's own error.
  bool covers(double positions) const;
};

/// Makes the table grow along both axes: a call that was slower than a larger one was disturbed.
void make_monotone(LatencyTable& latency_table);

/// The name of the latency table of an operation: its kind and everything else that its cost depends on, but
/// for extents. Operations of one name share a latency table. Convolutions that have a Winograd algorithm
/// have a latency table for each algorithm.
std::string latency_table_name(const Graph& graph, const Op& op,
                               ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::direct);
/// The table's name for a step that moves whole pixels: "gather", "store", "emit" or "accumulate".
std::string moving_latency_table_name(const char* step, int64_t channels);

/// How a step's work on frames and items is cut into calls: so many, of so many frames and items each.
struct CallsOfStep {
  double calls = 1;
  double layers = 1;
};
/// On the CPU one call has all frames and items of a tile, on a GPU those of one item; statistics there, and
/// what is emitted, go frame by frame. Attention does on both.
CallsOfStep calls_of(StepKind kind, DeviceKind device, double frames, double items);
/// Seconds of one call of attention with so many queries of a frame, on average over all frames, each with
/// the keys that it attends to.
double attention_seconds(const LatencyTable& latency_table, const Graph& graph, const Op& op,
                         const Extent& latent, double queries);

/// Extents that a latency table speaks of, for an operation whose output has this many positions: statistics
/// have those of what they measure, attention the queries of one frame and the most keys of any.
Extent latency_table_extent(const Graph& graph, const Op& op, const Extent& latent);

}  // namespace headroom::profiler
