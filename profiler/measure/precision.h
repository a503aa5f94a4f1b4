#pragma once

#include <cstddef>
#include <vector>

namespace headroom::profiler {

double median(std::vector<double> values);

/// Median of several measurements, and its relative standard error.
struct Estimate {
  double seconds = 0;
  double relative_error = 0;
  double waited_share = 0;  ///< of the time of those that count, in the median
};
/// Needs at least one value. With five or more, the spread comes from the middle half, so single outliers do
/// not move the estimate.
Estimate estimate_of(const std::vector<double>& seconds);

/// Calls of one point in a row: how many are enough. They end as soon as their median is as precise as is
/// asked, or when their share of time is used up.
///
///     calls   1   2   3 ......... n
///             |       |           `- the share is used, or so many calls
///             |       `- precise enough, and long enough for the clock
///             `- a call so long that two do not pay
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

/// A point that was visited in one of several rounds: what a call took then, which look at the clock drift
/// (clock_drift.h) was beside it, and which share of that time the threads waited for processors that other
/// programs had.
struct Visit {
  double seconds = 0;
  size_t look = 0;
  double waited_share = 0;
  friend bool operator==(const Visit&, const Visit&) = default;
};

/// A visit's seconds at the usual clock drift, and the share of its time that threads waited for processors.
/// If at least two visits hardly waited, the estimate uses those alone. Otherwise the wait is part of the
/// error. One visit alone says little about its error.
struct CorrectedVisit {
  double seconds = 0;
  double waited_share = 0;
};
Estimate estimate_of(const std::vector<CorrectedVisit>& visits);

}  // namespace headroom::profiler
