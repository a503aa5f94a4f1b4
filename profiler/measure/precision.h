#pragma once

#include <cstddef>
#include <vector>

namespace headroom::profiler {

double median(std::vector<double> values);

/// Median of several measurements, and its relative standard error.
struct Estimate {
  double seconds = 0;
  double relative_error = 0;
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
///             `- two calls that are so long that a third one does not pay
class CallTimes {
 public:
  explicit CallTimes(double target) : target_(target) {}

  void add(double seconds);
  bool enough() const;
  Estimate estimate() const { return estimate_of(seconds_); }
  size_t calls() const { return seconds_.size(); }

 private:
  double target_;
  double spent_ = 0;
  std::vector<double> seconds_;
};

}  // namespace headroom::profiler
