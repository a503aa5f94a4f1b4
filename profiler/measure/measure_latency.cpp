#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "decoder/graph/geometry.h"
#include "profiler/measure/clock_drift.h"

namespace headroom::profiler {
namespace {

constexpr double kOnceSeconds = 0.3;  // a call this long is measured in one sweep alone
constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr int64_t kLargePositions = 1 << 13;

/// What a call took, and which measurement of the clock drift was made beside it.
struct Timed {
  double seconds = 0;
  size_t look = 0;
};

/// One kind of call, and how to make one of an extent.
struct Subject {
  LatencyTable latency_table;
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};
  // What the sweeps found, by point: those of the latency table, then those held out.
  std::vector<std::vector<Timed>> found{};
};

/// 1, 2, 4, 8 … or with another factor, and the whole.
std::vector<int64_t> knots_up_to(int64_t whole, int64_t first, const std::vector<int64_t>& more) {
  std::vector<int64_t> knots;
  if (first < whole) knots.push_back(first);
  for (int64_t knot : more) {
    if (knot > first && knot * 3 <= whole * 2) knots.push_back(knot);
  }
  knots.push_back(whole);
  return knots;
}

LatencyTable empty_latency_table(const std::string& name, const Extent& whole, OpKind kind) {
  LatencyTable latency_table;
  latency_table.name = name;
  if (kind == OpKind::attention) {
    latency_table.rows = knots_up_to(whole.y, 16, {64, 256, 1024, 4096, 16384});
    latency_table.columns = knots_up_to(whole.x, 64, {512, 2048, 8192, 32768});
  } else {
    latency_table.rows = knots_up_to(whole.y, 1, {2, 4, 8, 16, 32, 64, 128});
    latency_table.columns = knots_up_to(whole.x, 4, {16, 64, 256, 1024});
  }
  latency_table.seconds.assign(latency_table.rows.size() * latency_table.columns.size(), kUnknown);
  latency_table.workspace_bytes.assign(latency_table.seconds.size(), 0);
  return latency_table;
}

/// Extents between the knots, inside the range.
std::vector<std::pair<int64_t, int64_t>> between(const LatencyTable& latency_table) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const auto& [y, x] :
       {std::pair<int64_t, int64_t>{5, 40}, {10, 100}, {20, 34}, {24, 180}, {40, 68}, {90, 200}}) {
    if (y < latency_table.rows.back() && x < latency_table.columns.back()) points.emplace_back(y, x);
  }
  return points;
}

class Measuring {
 public:
  Measuring(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark)
      : benchmark_(benchmark) {
    std::map<std::string, size_t> known;
    const auto subject = [&](const std::string& name, const Extent& whole, OpKind kind, auto prepare) {
      if (const auto found = known.find(name); found != known.end()) {
        const LatencyTable& before = subjects_[found->second].latency_table;
        const Extent larger{1, std::max(whole.y, before.rows.back()),
                            std::max(whole.x, before.columns.back())};
        subjects_[found->second].latency_table = empty_latency_table(name, larger, kind);
        return;
      }
      known[name] = subjects_.size();
      subjects_.push_back({empty_latency_table(name, whole, kind), prepare});
    };
    for (const Extent& latent : latents) {
      for (const Op& op : graph.ops()) {
        for (ConvolutionAlgorithm algorithm : algorithms_on(benchmark.device())) {
          const bool same = latency_table_name(graph, op, algorithm) == latency_table_name(graph, op);
          if (algorithm != ConvolutionAlgorithm::direct && same) continue;
          subject(latency_table_name(graph, op, algorithm), latency_table_extent(graph, op, latent), op.kind,
                  [this, &op, algorithm](int64_t rows, int64_t columns) {
                    return benchmark_.operation_call(op, algorithm, rows, columns);
                  });
        }
        // A tile of anything may be copied, one of a result stored, one of a sum added onto what is
        // materialised.
        if (graph.tensor(op.output).statistics) continue;
        const Tensor& made = graph.tensor(op.output);
        const Extent whole = extent_of(made, latent);
        for (const char* step : {"gather", "store", "accumulate", "emit"}) {
          if (step[0] == 'a' && op.kind != OpKind::add) continue;
          if (step[0] == 'e' && op.output != graph.output()) continue;
          subject(moving_latency_table_name(step, made.channels), {1, whole.t * whole.y, whole.x},
                  op.kind == OpKind::attention ? OpKind::conv : op.kind,
                  [this, step, channels = made.channels](int64_t rows, int64_t columns) {
                    return benchmark_.moving_call(step, channels, rows, columns);
                  });
        }
      }
      const Tensor& input = graph.tensor(graph.latent());
      subject(moving_latency_table_name("gather", input.channels), {1, latent.t * latent.y, latent.x},
              OpKind::conv, [this, channels = input.channels](int64_t rows, int64_t columns) {
                return benchmark_.moving_call("gather", channels, rows, columns);
              });
    }
    for (Subject& entry : subjects_) {
      entry.held_out = between(entry.latency_table);
      entry.found.resize(entry.latency_table.seconds.size() + entry.held_out.size());
    }
  }

  std::vector<LatencyTable> run(int sweeps, const Clock& clock,
                                const std::function<void(double, const std::string&)>& progress) {
    ClockDrift clock_drift(benchmark_, clock);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t i = 0; i < subjects_.size(); ++i) {
        progress((sweep + double(i) / double(subjects_.size())) / sweeps, subjects_[i].latency_table.name);
        measure(subjects_[i], clock_drift);
      }
    }
    std::vector<LatencyTable> latency_tables;
    for (Subject& subject : subjects_) latency_tables.push_back(finished(subject, clock_drift));
    return latency_tables;
  }

  void run_dry() {
    for (const Subject& subject : subjects_) {
      for (size_t i = subject.found.size(); i-- > 0;) {
        if (is_large(subject.latency_table, i)) continue;
        const Call call = prepared(subject, i);
        call.run();
        if (call.finish) call.finish();
      }
    }
  }

 private:
  /// The call of a point: one of the latency table, or one that is held out.
  static Call prepared(const Subject& subject, size_t point) {
    const LatencyTable& latency_table = subject.latency_table;
    const size_t width = latency_table.columns.size(), points = latency_table.seconds.size();
    const auto [rows, columns] =
        point < points ? std::pair(latency_table.rows[point / width], latency_table.columns[point % width])
                       : subject.held_out[point - points];
    return subject.prepare(rows, columns);
  }

  void measure(Subject& subject, ClockDrift& clock_drift) {
    LatencyTable& latency_table = subject.latency_table;
    bool first = true;
    // From the largest down: the first call brings all pages in that the others need.
    for (size_t i = latency_table.seconds.size(); i-- > 0;) {
      if (is_large(latency_table, i) || known(subject.found[i])) continue;
      const size_t look = clock_drift.look();
      const Call call = prepared(subject, i);
      if (first) call.run();
      first = false;
      const int64_t before = benchmark_.live_bytes();
      benchmark_.start_window();
      subject.found[i].push_back({benchmark_.seconds(call), look});
      const int64_t beside = benchmark_.window_peak_bytes() - before - call.result_bytes;
      latency_table.workspace_bytes[i] = std::max({latency_table.workspace_bytes[i], beside, int64_t{0}});
    }
    for (size_t i = latency_table.seconds.size(); i < subject.found.size(); ++i) {
      if (known(subject.found[i])) continue;
      const size_t look = clock_drift.look();
      const Call call = prepared(subject, i);
      subject.found[i].push_back({benchmark_.seconds(call), look});
    }
  }

  /// True where a call takes so long that one sweep is enough.
  static bool known(const std::vector<Timed>& found) {
    return !found.empty() && found.front().seconds >= kOnceSeconds;
  }

  /// The highest tiles are measured at full width alone; those of fewer columns are to the knot before as
  /// these are.
  static bool is_large(const LatencyTable& latency_table, size_t i) {
    const size_t width = latency_table.columns.size();
    return i < latency_table.seconds.size() && latency_table.rows.size() > 2 &&
           i / width + 1 == latency_table.rows.size() && i % width + 1 < width &&
           latency_table.rows.back() * latency_table.columns[i % width] > kLargePositions;
  }

  /// The median of what the sweeps found, each divided by the clock drift at that time.
  static double at_usual_clock_drift(const std::vector<Timed>& found, const ClockDrift& clock_drift) {
    std::vector<double> seconds;
    for (const Timed& timed : found) seconds.push_back(timed.seconds / clock_drift.at(timed.look));
    return median(std::move(seconds));
  }

  static LatencyTable finished(Subject& subject, const ClockDrift& clock_drift) {
    LatencyTable latency_table = std::move(subject.latency_table);
    const size_t width = latency_table.columns.size();
    for (size_t i = 0; i < latency_table.seconds.size(); ++i) {
      if (!subject.found[i].empty())
        latency_table.seconds[i] = at_usual_clock_drift(subject.found[i], clock_drift);
    }
    for (size_t i = 0; i < latency_table.seconds.size(); ++i) {
      if (!is_large(latency_table, i)) continue;
      latency_table.seconds[i] = latency_table.seconds[i - width] * latency_table.seconds.back() /
                                 latency_table.seconds[latency_table.seconds.size() - 1 - width];
      latency_table.workspace_bytes[i] =
          std::max(latency_table.workspace_bytes[i - width], latency_table.workspace_bytes.back());
    }
    for (double& seconds : latency_table.seconds) seconds = std::max(seconds, 1e-9);
    make_monotone(latency_table);
    std::vector<double> errors;
    for (size_t i = 0; i < subject.held_out.size(); ++i) {
      const auto [rows, columns] = subject.held_out[i];
      errors.push_back(std::abs(
          latency_table.seconds_at(double(rows), double(columns)) /
              std::max(at_usual_clock_drift(subject.found[latency_table.seconds.size() + i], clock_drift),
                       1e-9) -
          1));
    }
    latency_table.held_out_points = static_cast<int64_t>(errors.size());
    if (!errors.empty()) {
      std::sort(errors.begin(), errors.end());
      latency_table.held_out_error = errors[errors.size() / 2];
    }
    return latency_table;
  }

  Benchmark& benchmark_;
  std::vector<Subject> subjects_;
};

}  // namespace

std::vector<LatencyTable> measure_latency_tables(
    const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark, int sweeps,
    const Clock& clock, const std::function<void(double, const std::string&)>& progress) {
  return Measuring(graph, latents, benchmark).run(sweeps, clock, progress);
}

void run_dry_latency_tables(const Graph& graph, const std::vector<Extent>& latents, Benchmark& benchmark) {
  Measuring(graph, latents, benchmark).run_dry();
}

}  // namespace headroom::profiler
