#include "profiler/measure/latency_subjects.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "decoder/graph/geometry.h"

namespace headroom::profiler {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Grid points: `first`, the entries of `more` up to 2/3 of `whole`, and `whole`. A coarse grid uses every
/// second entry.
std::vector<int64_t> grid_up_to(int64_t whole, int64_t first, const std::vector<int64_t>& more, bool coarse) {
  std::vector<int64_t> points;
  if (first < whole) points.push_back(first);
  for (size_t i = coarse ? 1 : 0; i < more.size(); i += coarse ? 2 : 1) {
    if (more[i] > first && more[i] * 3 <= whole * 2) points.push_back(more[i]);
  }
  points.push_back(whole);
  return points;
}

LatencyTable empty_table(const std::string& name, const Extent& whole, OpKind kind, bool coarse) {
  LatencyTable table;
  table.name = name;
  if (kind == OpKind::attention) {
    table.rows = grid_up_to(whole.y, 16, {64, 256, 1024, 4096, 16384}, coarse);
    table.columns = grid_up_to(whole.x, 64, {512, 2048, 8192, 32768}, coarse);
  } else {
    table.rows = grid_up_to(whole.y, 1, {2, 4, 8, 16, 32, 64, 128}, coarse);
    table.columns = grid_up_to(whole.x, 4, {16, 64, 256, 1024}, coarse);
  }
  table.seconds.assign(table.rows.size() * table.columns.size(), kUnknown);
  table.workspace_bytes.assign(table.seconds.size(), 0);
  return table;
}

/// Extents between the grid points, inside the range.
std::vector<std::pair<int64_t, int64_t>> between(const LatencyTable& table) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const auto& [y, x] :
       {std::pair<int64_t, int64_t>{5, 40}, {10, 100}, {20, 34}, {24, 180}, {40, 68}, {90, 200}}) {
    if (y < table.rows.back() && x < table.columns.back()) points.emplace_back(y, x);
  }
  return points;
}

}  // namespace

std::pair<int64_t, int64_t> LatencySubject::extent(size_t point) const {
  if (point >= table.seconds.size()) return held_out[point - table.seconds.size()];
  const size_t width = table.columns.size();
  return {table.rows[point / width], table.columns[point % width]};
}

double LatencySubject::positions(size_t point) const {
  const auto [rows, columns] = extent(point);
  return double(rows) * double(columns);
}

Call LatencySubject::call(size_t point) const {
  const auto [rows, columns] = extent(point);
  return prepare(rows, columns);
}

std::vector<LatencySubject> latency_subjects(const Graph& graph, const std::vector<Extent>& latents,
                                             Benchmark& benchmark, bool coarse) {
  std::vector<LatencySubject> subjects;
  std::map<std::string, size_t> known;
  const auto subject = [&](const std::string& name, const Extent& whole, OpKind kind, auto prepare) {
    if (const auto found = known.find(name); found != known.end()) {
      const LatencyTable& before = subjects[found->second].table;
      const Extent larger{1, std::max(whole.y, before.rows.back()), std::max(whole.x, before.columns.back())};
      subjects[found->second].table = empty_table(name, larger, kind, coarse);
      return;
    }
    known[name] = subjects.size();
    subjects.push_back({empty_table(name, whole, kind, coarse), prepare});
  };
  const auto moving = [&](const char* step, int64_t channels, const Extent& whole, OpKind kind) {
    subject(moving_latency_table_name(step, channels), {1, whole.t * whole.y, whole.x}, kind,
            [&benchmark, step, channels](int64_t rows, int64_t columns) {
              return benchmark.moving_call(step, channels, rows, columns);
            });
  };
  for (const Extent& latent : latents) {
    for (const Op& op : graph.ops()) {
      for (ConvolutionAlgorithm algorithm : device_record(benchmark.device()).algorithms) {
        const bool same = latency_table_name(graph, op, algorithm) == latency_table_name(graph, op);
        if (algorithm != ConvolutionAlgorithm::direct && same) continue;
        subject(latency_table_name(graph, op, algorithm), latency_table_extent(graph, op, latent), op.kind,
                [&benchmark, &op, algorithm](int64_t rows, int64_t columns) {
                  return benchmark.operation_call(op, algorithm, rows, columns);
                });
      }
      // Any tile can be gathered, a result stored and a sum accumulated onto a kept tensor.
      if (graph.tensor(op.output).statistics) continue;
      const Tensor& made = graph.tensor(op.output);
      for (const char* step : {"gather", "store", "accumulate", "emit"}) {
        if (step[0] == 'a' && op.kind != OpKind::add) continue;
        if (step[0] == 'e' && op.output != graph.output()) continue;
        moving(step, made.channels, extent_of(made, latent),
               op.kind == OpKind::attention ? OpKind::conv : op.kind);
      }
    }
    moving("gather", graph.tensor(graph.input()).channels, latent, OpKind::conv);
  }
  for (LatencySubject& entry : subjects) entry.held_out = between(entry.table);
  return subjects;
}

}  // namespace headroom::profiler
