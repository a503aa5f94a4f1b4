#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// One kind of call, the grid points at which it is measured, and how to make one of an extent.
struct LatencySubject {
  LatencyTable table;  ///< with its grid points; seconds and workspace are still to come
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};  ///< extents between the grid points

  /// Number of points: the table's grid points, row by row, then the held-out ones.
  size_t points() const { return table.seconds.size() + held_out.size(); }
  std::pair<int64_t, int64_t> extent(size_t point) const;
  double positions(size_t point) const;
  Call call(size_t point) const;
};

/// All kinds of calls that a decoder has: every operation by every algorithm, and every step that moves
/// pixels. Grid points go up to the whole tensors of the largest latent. References must outlive them.
std::vector<LatencySubject> latency_subjects(const Graph& graph, const std::vector<Extent>& latents,
                                             Benchmark& benchmark, bool coarse);

}  // namespace headroom::profiler
