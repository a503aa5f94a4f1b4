#include "profiler/measure/clock_drift.h"

#include <algorithm>
#include <cmath>

#include "profiler/measure/precision.h"

namespace headroom::profiler {
namespace {

constexpr size_t kBeside = 12;  // samples before and after, a second or so in all

}  // namespace

size_t ClockDrift::sample() {
  if (sampled_ && clock_() - sampled_at_seconds_ < benchmark_.steady_clock_drift_seconds())
    return seen_.size() - 1;
  seen_.push_back(benchmark_.reference_seconds());
  sampled_at_seconds_ = clock_();
  sampled_ = true;
  return seen_.size() - 1;
}

double ClockDrift::about(size_t sample) const {
  const size_t begin = sample - std::min(sample, kBeside), end = std::min(sample + kBeside + 1, seen_.size());
  const auto from = [&](size_t i) { return seen_.begin() + static_cast<std::ptrdiff_t>(i); };
  return median({from(begin), from(end)});
}

double ClockDrift::at(size_t sample) const {
  return about(sample) / median(seen_);
}

double ClockDrift::typical() const {
  if (seen_.empty()) return 0;
  const double usual = median(seen_);
  double distances = 0;
  for (size_t i = 0; i < seen_.size(); ++i) distances += std::abs(about(i) / usual - 1);
  return distances / double(seen_.size());
}

}  // namespace headroom::profiler
