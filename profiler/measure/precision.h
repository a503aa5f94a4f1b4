#pragma once

#include <cstddef>
#include <vector>

namespace headroom::profiler {

double median(std::vector<double> values);

/// What several measurements of one thing say: their median, and its standard error over it.
struct Estimate {
  double seconds = 0;
  double relative_error = 0;
  double waited_share = 0;  ///< of the time of those that count, in the median
};
/// At least one. Of five and more, single slips do not move it: the spread is that of the half in the middle.
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

/// Of what was found, each at the usual clock drift, and how long was waited. Visits during which nothing was
/// waited for count alone where there are two; otherwise the wait is part of the error. One visit alone says
/// little of its error.
struct CorrectedVisit {
  double seconds = 0;
  double waited_share = 0;
};
Estimate estimate_of(const std::vector<CorrectedVisit>& visits);

}  // namespace headroom::profiler
