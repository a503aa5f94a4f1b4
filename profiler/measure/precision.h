#pragma once

#include <cstddef>
#include <vector>

namespace headroom::profiler {

double median(std::vector<double> values);

/// Median of several measurements, and its relative standard error.
struct Estimate {
  double seconds = 0;
  double relative_error = 0;
  double waited_share = 0;  ///< median over the measurements that count
};
/// Needs at least one value. With five or more, the spread comes from the middle half, so single outliers do
/// not move the estimate.
Estimate estimate_of(const std::vector<double>& seconds);

/// Decides how often to repeat the call of one point. Repetition ends when the median is precise enough or
/// the point's time is used up.
///
///     calls   1   2   3 ......... n
///             |       |           `- the time is used up, or the maximum number of calls is reached
///             |       `- precise enough, and long enough for the clock's resolution
///             `- one call that is so long that a second one does not pay
class CallTimes {
 public:
  explicit CallTimes(double target) : target_(target) {}

  void add(double seconds);
  bool enough() const;
  double seconds() const { return estimate_of(seconds_).seconds; }
  size_t calls() const { return seconds_.size(); }

 private:
  double target_;
  double spent_ = 0;
  std::vector<double> seconds_;
};

/// One visit to a point in one round: the time of a call and the index of the clock-drift sample
/// (clock_drift.h). `waited_share` is the share of thread time spent waiting for processors that other
/// programs held.
struct Visit {
  double seconds = 0;
  size_t sample = 0;
  double waited_share = 0;
  friend bool operator==(const Visit&, const Visit&) = default;
};

/// A visit's seconds, corrected for clock drift, and its waited share.
struct CorrectedVisit {
  double seconds = 0;
  double waited_share = 0;
};
Estimate estimate_of(const std::vector<CorrectedVisit>& visits);

}  // namespace headroom::profiler
