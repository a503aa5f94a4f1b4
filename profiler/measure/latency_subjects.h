#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "decoder/graph/graph.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// One kind of call, its grid points, and a factory for calls of a given extent.
struct LatencySubject {
  LatencyTable table;  ///< has its grid points; seconds and workspace are not measured yet
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};  ///< extents between the grid points

  /// Number of points: the table's grid points, row by row, then the held-out ones.
  size_t points() const { return table.seconds.size() + held_out.size(); }
  std::pair<int64_t, int64_t> extent(size_t point) const;
  double positions(size_t point) const;
  Call call(size_t point) const;
};

/// All kinds of calls of a decoder: every operation with every algorithm, and every step that moves pixels.
/// Grid points go up to the whole tensors of the largest latent. All references must outlive the result.
std::vector<LatencySubject> latency_subjects(const Graph& graph, const std::vector<Extent>& latents,
                                             Benchmark& benchmark, bool coarse);

}  // namespace headroom::profiler
