#include "profiler/measure/clock_drift.h"

#include <algorithm>

namespace headroom::profiler {
namespace {

constexpr size_t kBeside = 12;  // looks before and after one: a second or so in all

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

size_t ClockDrift::look() {
  if (!seen_.empty() && clock_() - looked_at_seconds_ < benchmark_.steady_clock_drift_seconds())
    return seen_.size() - 1;
  seen_.push_back(benchmark_.reference_seconds());
  looked_at_seconds_ = clock_();
  return seen_.size() - 1;
}

double ClockDrift::at(size_t look) const {
  const size_t begin = look - std::min(look, kBeside), end = std::min(look + kBeside + 1, seen_.size());
  const auto from = [&](size_t i) { return seen_.begin() + static_cast<std::ptrdiff_t>(i); };
  return median({from(begin), from(end)}) / median(seen_);
}

}  // namespace headroom::profiler
