#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <cmath>

#include "profiler/measure/clock_drift.h"
#include "profiler/measure/latency_subjects.h"

namespace headroom::profiler {
namespace {

constexpr size_t kMostVisits = 8;
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
            const LatencyRequest& request, MeasuredPoints& points)
      : benchmark_(benchmark),
        request_(request),
        points_(points),
        clock_drift_(benchmark, request.clock, points.reference_seconds),
        subjects_(latency_subjects(graph, latents, benchmark, request.effort.coarse)),
        long_(subjects_.size()) {
    for (const LatencySubject& subject : subjects_) {
      points_.tables[subject.table.name].resize(subject.points());
    }
  }

  MeasuredLatency run() {
    started_seconds_ = request_.clock();
    for (size_t round = 0; round < kMostVisits; ++round) {
      if (!visit_all(round)) break;
    }
    MeasuredLatency measured;
    measured.precision.target = request_.effort.target_error;
    measured.precision.clock_drift = clock_drift_.typical();
    for (size_t s = 0; s < subjects_.size(); ++s) measured.tables.push_back(finished(s, measured.precision));
    if (seconds_ > 0) measured.precision.waited_share = waited_seconds_ / seconds_;
    return measured;
  }

 private:
  const LatencyEffort& effort() const { return request_.effort; }
  std::vector<MeasuredPoint>& found(size_t s) { return points_.tables[subjects_[s].table.name]; }

  Estimate estimate(const MeasuredPoint& point) const {
    std::vector<CorrectedVisit> visits;
    for (const Visit& visit : point.visits)
      visits.push_back({visit.seconds / clock_drift_.at(visit.sample), visit.waited_share});
    return estimate_of(visits);
  }

  bool due(size_t s, size_t i, size_t round) {
    if (is_large(subjects_[s].table, i) || (!long_[s].empty() && long_[s][i])) return false;
    const MeasuredPoint& point = found(s)[i];
    if (point.visits.size() < static_cast<size_t>(effort().visits)) return point.visits.size() <= round;
    return round >= static_cast<size_t>(effort().visits) && point.visits.size() < kMostVisits &&
           estimate(point).relative_error > effort().target_error;
  }

  /// Runs one round. Returns false if no point is due or the time is over. The first round always finishes,
  /// because the tables need it.
  bool visit_all(size_t round) {
    std::vector<std::vector<size_t>> lists;
    size_t count = 0, done = 0;
    for (size_t s = 0; s < subjects_.size(); ++s) {
      lists.emplace_back();
      // Largest first: the first call touches all memory pages that the others need.
      for (size_t i = subjects_[s].table.seconds.size(); i-- > 0;) {
        if (due(s, i, round)) lists.back().push_back(i);
      }
      for (size_t i = subjects_[s].table.seconds.size(); i < subjects_[s].points(); ++i) {
        if (due(s, i, round)) lists.back().push_back(i);
      }
      count += lists.back().size();
    }
    const double began = request_.clock();
    for (size_t s = 0; s < subjects_.size(); ++s) {
      if (lists[s].empty()) continue;
      const double now = request_.clock(), over = effort().seconds - (now - started_seconds_);
      if (round > 0 && over <= 0) return false;
      if (done > 0) seconds_per_point_ = (now - began) / double(done);
      tell(s, round, double(count - done), over);
      visit(s, lists[s]);
      done += lists[s].size();
    }
    return count > 0;
  }

  /// Reports progress, with `points` left in this round and `over_seconds` until the time limit.
  void tell(size_t s, size_t round, double points, double over_seconds) {
    const double spent = request_.clock() - started_seconds_;
    const double here = seconds_per_point_ * points;
    // Estimates each remaining mandatory round at the mean time of the rounds so far, within the time limit.
    const double rounds = std::max(0.0, double(effort().visits) - 1 - double(round));
    const double later = rounds * (spent + (round == 0 ? here : 0)) / double(round + 1);
    const double within = std::max(0.0, over_seconds);
    double left = here + std::min(later, std::max(0.0, within - here));
    if (seconds_per_point_ == 0) left = within;
    if (round > 0) left = std::min(left, within);
    request_.progress(spent / std::max(spent + left, 1e-9), left, subjects_[s].table.name);
  }

  void visit(size_t s, const std::vector<size_t>& list) {
    const LatencySubject& subject = subjects_[s];
    if (long_[s].empty()) find_long(s);
    bool first = true;
    for (size_t i : list) {
      if (long_[s][i]) continue;
      const size_t sample = clock_drift_.sample();
      const Call call = subject.call(i);
      if (first) call.run();
      first = false;
      const int64_t before = benchmark_.live_bytes();
      benchmark_.start_window();
      const double waited = benchmark_.waited_seconds(), began = request_.clock();
      const double seconds = benchmark_.seconds(call);
      const double took = std::max(1e-9, request_.clock() - began) * benchmark_.threads();
      MeasuredPoint& point = found(s)[i];
      point.visits.push_back(
          {seconds, sample, std::clamp((benchmark_.waited_seconds() - waited) / took, 0.0, 1.0)});
      const int64_t beside = benchmark_.window_peak_bytes() - before - call.result_bytes;
      point.workspace_bytes = std::max({point.workspace_bytes, beside, int64_t{0}});
    }
  }

  /// Finds the points that are too slow to measure, from one call with few rows.
  void find_long(size_t s) {
    const LatencySubject& subject = subjects_[s];
    const LatencyTable& table = subject.table;
    long_[s].assign(subject.points(), false);
    if (!device_record(benchmark_.device()).is_host) return;
    const size_t width = table.columns.size();
    size_t row = 0;
    while (row + 1 < table.rows.size() && table.rows[row + 1] <= kProbedRows) ++row;
    const size_t probe = (row + 1) * width - 1;
    const Call call = subject.call(probe);
    call.run();
    const double began = request_.clock();
    call.run();
    const double longest = effort().coarse ? kLongSecondsCoarse : kLongSeconds;
    const double of_position = (request_.clock() - began) / subject.positions(probe);
    for (size_t i = 0; i < subject.points(); ++i) {
      const bool deducible = i >= table.seconds.size() || i / width >= std::max(kRowsBelowLong, row + 1);
      long_[s][i] = deducible && subject.positions(i) * of_position > longest;
    }
  }

  LatencyTable finished(size_t s, MeasuredPrecision& precision) {
    LatencyTable table = subjects_[s].table;
    const std::vector<MeasuredPoint>& points = found(s);
    double seconds = 0, off_seconds = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points[i].visits.empty()) continue;
      const Estimate found_out = estimate(points[i]);
      ++precision.points;
      if (found_out.relative_error > effort().target_error) ++precision.noisy_points, ++table.noisy_points;
      seconds_ += found_out.seconds;
      waited_seconds_ += found_out.seconds * found_out.waited_share;
      if (i >= table.seconds.size()) continue;
      table.seconds[i] = std::max(found_out.seconds, 1e-9);
      table.workspace_bytes[i] = points[i].workspace_bytes;
      seconds += found_out.seconds;
      off_seconds += found_out.seconds * found_out.relative_error;
    }
    if (seconds > 0) table.relative_error = off_seconds / seconds;
    deduce(table);
    make_monotone(table);
    compare_held_out(s, table);
    return table;
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

  void compare_held_out(size_t s, LatencyTable& table) {
    std::vector<double> errors;
    for (size_t i = table.seconds.size(); i < subjects_[s].points(); ++i) {
      const MeasuredPoint& point = found(s)[i];
      if (point.visits.empty()) continue;
      const auto [rows, columns] = subjects_[s].extent(i);
      const double told = table.seconds_at(double(rows), double(columns));
      errors.push_back(std::abs(told / std::max(estimate(point).seconds, 1e-9) - 1));
    }
    table.held_out_points = static_cast<int64_t>(errors.size());
    if (errors.empty()) return;
    std::sort(errors.begin(), errors.end());
    table.held_out_error = errors[errors.size() / 2];
  }

  Benchmark& benchmark_;
  const LatencyRequest& request_;
  MeasuredPoints& points_;
  ClockDrift clock_drift_;
  std::vector<LatencySubject> subjects_;
  std::vector<std::vector<bool>> long_;  ///< by subject and point; empty until the subject's first visit
  double started_seconds_ = 0;
  double seconds_per_point_ = 0;             ///< in this round so far, or in the one before
  double seconds_ = 0, waited_seconds_ = 0;  ///< summed over all points
};

}  // namespace

MeasuredLatency measure_latency_tables(const Graph& graph, const std::vector<Extent>& latents,
                                       Benchmark& benchmark, const LatencyRequest& request,
                                       MeasuredPoints& points) {
  return Measuring(graph, latents, benchmark, request, points).run();
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
