#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {
namespace {

/// One kind of call, its grid points, and a factory for calls of a given extent.
struct LatencySubject {
  LatencyTable table;  ///< has its grid points; seconds and workspace are not measured yet
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};  ///< extents between the grid points

  /// Number of points: the table's grid points, row by row, then the held-out ones.
  size_t points() const { return table.seconds.size() + held_out.size(); }
  std::pair<int64_t, int64_t> extent(size_t point) const {
    if (point >= table.seconds.size()) return held_out[point - table.seconds.size()];
    const size_t width = table.columns.size();
    return {table.rows[point / width], table.columns[point % width]};
  }
  double positions(size_t point) const {
    const auto [rows, columns] = extent(point);
    return double(rows) * double(columns);
  }
  Call call(size_t point) const {
    const auto [rows, columns] = extent(point);
    return prepare(rows, columns);
  }
};

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

/// All kinds of calls of a decoder: every operation with every algorithm, and every step that moves pixels.
/// Grid points go up to the whole tensors of the largest latent. All references must outlive the result.
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

constexpr int64_t kLargePositions = 1 << 13;
/// On a CPU, longer calls are extrapolated from smaller ones instead of measured.
constexpr double kLongSeconds = 60e-3, kLongSecondsCoarse = 30e-3;
constexpr size_t kRowsBelowLong = 2;
constexpr int64_t kProbedRows = 8;

/// The largest row count is measured at full width only. Narrower tiles get the growth factor of the full
/// width.
bool is_large(const LatencyTable& table, size_t i) {
  const size_t width = table.columns.size();
  return i < table.seconds.size() && table.rows.size() > 2 && i / width + 1 == table.rows.size() &&
         i % width + 1 < width && table.rows.back() * table.columns[i % width] > kLargePositions;
}

class Measuring {
 public:
  Measuring(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark,
            const LatencyRequest& request)
      : benchmark_(benchmark),
        request_(request),
        subjects_(latency_subjects(graph, latents, benchmark, request.coarse)) {}

  MeasuredLatency run() {
    MeasuredLatency measured;
    measured.precision.target = request_.target_error();
    const double began = request_.clock();
    for (size_t s = 0; s < subjects_.size(); ++s) {
      if (s > 0) {
        const double of_table = (request_.clock() - began) / double(s);
        request_.progress(of_table * double(subjects_.size() - s), subjects_[s].table.name);
      }
      measured.tables.push_back(measure(subjects_[s], measured.precision));
    }
    return measured;
  }

 private:
  LatencyTable measure(const LatencySubject& subject, MeasuredPrecision& precision) {
    LatencyTable table = subject.table;
    const std::vector<bool> is_long = long_points(subject);
    std::vector<double> errors;  // at held-out points
    double seconds = 0, off_seconds = 0;
    bool first = true;
    const auto measured = [&](size_t i) {
      const Call call = subject.call(i);
      if (std::exchange(first, false)) call.run();
      const int64_t before = benchmark_.live_bytes();
      benchmark_.start_window();
      const Estimate found = benchmark_.seconds(call);
      const bool noisy = found.relative_error > request_.target_error();
      ++precision.points;
      precision.noisy_points += noisy ? 1 : 0;
      table.noisy_points += noisy ? 1 : 0;
      if (i < table.seconds.size()) {
        table.workspace_bytes[i] =
            std::max<int64_t>(0, benchmark_.window_peak_bytes() - before - call.result_bytes);
      }
      return found;
    };
    // Largest first: the first call touches all memory pages that the others need.
    for (size_t i = table.seconds.size(); i-- > 0;) {
      if (is_large(table, i) || is_long[i]) continue;
      const Estimate found = measured(i);
      table.seconds[i] = std::max(found.seconds, 1e-9);
      seconds += found.seconds;
      off_seconds += found.seconds * found.relative_error;
    }
    if (seconds > 0) table.relative_error = off_seconds / seconds;
    deduce(table);
    make_monotone(table);
    for (size_t i = table.seconds.size(); i < subject.points(); ++i) {
      if (is_long[i]) continue;
      const auto [rows, columns] = subject.extent(i);
      const double told = table.seconds_at(double(rows), double(columns));
      errors.push_back(std::abs(told / std::max(measured(i).seconds, 1e-9) - 1));
    }
    table.held_out_points = static_cast<int64_t>(errors.size());
    if (!errors.empty()) table.held_out_error = median(std::move(errors));
    return table;
  }

  /// Finds the points that are too slow to measure, from one call with few rows.
  std::vector<bool> long_points(const LatencySubject& subject) {
    const LatencyTable& table = subject.table;
    std::vector<bool> found(subject.points(), false);
    if (!device_record(benchmark_.device()).is_host) return found;
    const size_t width = table.columns.size();
    size_t row = 0;
    while (row + 1 < table.rows.size() && table.rows[row + 1] <= kProbedRows) ++row;
    const size_t probe = (row + 1) * width - 1;
    const Call call = subject.call(probe);
    call.run();
    const double began = request_.clock();
    call.run();
    const double longest = request_.coarse ? kLongSecondsCoarse : kLongSeconds;
    const double of_position = (request_.clock() - began) / subject.positions(probe);
    for (size_t i = 0; i < subject.points(); ++i) {
      const bool deducible = i >= table.seconds.size() || i / width >= std::max(kRowsBelowLong, row + 1);
      found[i] = deducible && subject.positions(i) * of_position > longest;
    }
    return found;
  }

  /// Extrapolates unmeasured points: in proportion to rows, or by the growth at full width for the largest
  /// row count.
  static void deduce(LatencyTable& table) {
    const size_t width = table.columns.size(), last = table.seconds.size() - 1;
    const auto goes_on = [&](size_t i, double times) {
      table.seconds[i] = table.seconds[i - width] * times;
      // A workspace that grew is extrapolated. Otherwise it is a buffer of fixed size.
      const int64_t above = table.workspace_bytes[i - width];
      const bool grew = i < 2 * width || above > table.workspace_bytes[i - 2 * width];
      table.workspace_bytes[i] =
          std::max(table.workspace_bytes[i], grew ? static_cast<int64_t>(double(above) * times) : above);
    };
    for (size_t i = width; i <= last; ++i) {
      if (std::isinf(table.seconds[i]) && !is_large(table, i))
        goes_on(i, double(table.rows[i / width]) / double(table.rows[i / width - 1]));
    }
    for (size_t i = width; i < last; ++i) {
      if (is_large(table, i)) goes_on(i, table.seconds[last] / table.seconds[last - width]);
    }
  }

  Benchmark& benchmark_;
  const LatencyRequest& request_;
  const std::vector<LatencySubject> subjects_;
};

}  // namespace

MeasuredLatency measure_latency_tables(const Graph& graph, const std::vector<Extent>& latents,
                                       Benchmark& benchmark, const LatencyRequest& request) {
  return Measuring(graph, latents, benchmark, request).run();
}

void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark) {
  for (const LatencySubject& subject : latency_subjects(graph, latents, benchmark, false)) {
    for (size_t i = subject.points(); i-- > 0;) {
      if (is_large(subject.table, i)) continue;
      const Call call = subject.call(i);
      call.run();
      if (call.finish) call.finish();
    }
  }
}

}  // namespace headroom::profiler
