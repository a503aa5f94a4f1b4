#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

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

/// Monotonic clock, in seconds since an arbitrary origin.
using Clock = std::function<double()>;

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A prepared call that can be repeated, and the bytes of its result.
struct Call {
  std::function<void()> run;
  int64_t result_bytes = 0;
  std::function<void()> finish{};  ///< runs once after the last repetition; may be empty
};

/// Measures a decoder's calls one by one on a device, with the code that decodes run. The benchmark must
/// outlive its calls.
class Benchmark {
 public:
  virtual ~Benchmark() = default;

  virtual DeviceKind device() const = 0;
  /// An operation on a tile of this extent. For attention, rows are queries and columns are keys. The
  /// operation must belong to the benchmark's graph.
  virtual Call operation_call(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows,
                              int64_t columns) = 0;
  /// A step that moves pixels between tiles and kept tensors: "gather", "store", "accumulate" or "emit".
  virtual Call moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) = 0;

  /// Seconds of one call, measured over several calls.
  virtual Estimate seconds(const Call& call) = 0;

  virtual int64_t live_bytes() const = 0;
  /// Starts a window for window_peak_bytes(), the peak of live bytes since then.
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;
};

}  // namespace headroom::profiler
