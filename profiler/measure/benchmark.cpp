#include "profiler/measure/benchmark.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom::profiler {

namespace {

constexpr double kLeastSpentSeconds = 1e-3;  // clock resolution and overhead are then negligible
constexpr size_t kLeastCalls = 3;
constexpr double kShareSeconds = 10e-3;
constexpr size_t kMostCalls = 400;
constexpr double kLongCallSeconds = 30e-3;
constexpr size_t kLeastLongCalls = 2;

// Factors for a normal distribution: standard deviation over median absolute deviation, standard error of the
// median over that of the mean, and range of two, three and four values over standard deviation.
constexpr double kDeviationByMedian = 1.4826, kMedianByMean = 1.2533;
constexpr std::array<double, 5> kRangeByDeviation{0, 0, 1.128, 1.693, 2.059};

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

namespace {

/// Standard deviation. Fewer than five values use the range, since two of three may be close by chance. More
/// values use the median distance, which ignores outliers.
double deviation_of(const std::vector<double>& seconds, double middle) {
  if (seconds.size() < kRangeByDeviation.size()) {
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    return seconds.size() < 2 ? 0 : (*most - *least) / kRangeByDeviation[seconds.size()];
  }
  std::vector<double> distances;
  distances.reserve(seconds.size());
  for (double each : seconds) distances.push_back(std::abs(each - middle));
  return kDeviationByMedian * median(std::move(distances));
}

}  // namespace

Estimate estimate_of(const std::vector<double>& seconds) {
  Estimate estimate{median(seconds)};
  if (estimate.seconds <= 0) return estimate;
  estimate.relative_error = kMedianByMean * deviation_of(seconds, estimate.seconds) /
                            (estimate.seconds * std::sqrt(double(seconds.size())));
  return estimate;
}

void CallTimes::add(double seconds) {
  seconds_.push_back(seconds);
  spent_ += seconds;
}

bool CallTimes::enough() const {
  if (seconds_.empty()) return false;
  if (seconds_.size() >= kMostCalls) return true;
  if (seconds_.size() >= kLeastLongCalls && spent_ >= kLongCallSeconds) return true;
  if (seconds_.size() < kLeastCalls || spent_ < kLeastSpentSeconds) return false;
  return spent_ >= kShareSeconds || estimate_of(seconds_).relative_error <= target_;
}

}  // namespace headroom::profiler
