#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// Monotonic clock, in seconds since an arbitrary origin.
using Clock = std::function<double()>;

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A device's clock drift: current time of a reference call over its median time. Other tenants of a
/// processor slow all work by up to a half, for seconds or minutes. A GPU's clock follows its temperature.
/// Measured times are divided by the drift before they are compared.
class ClockDrift {
 public:
  /// Continues the samples in `seen`, which are reference times in seconds, and appends to them.
  ClockDrift(Benchmark& benchmark, Clock clock, std::vector<double>& seen)
      : benchmark_(benchmark), clock_(std::move(clock)), seen_(seen) {}

  /// Takes a sample: times the reference call, unless the last sample is recent enough. Returns the index of
  /// the newest sample.
  size_t sample();
  /// Drift at a sample: the median of the samples around it over the median of all samples.
  double at(size_t sample) const;
  /// Mean distance of the drift from 1 over all samples.
  double typical() const;

 private:
  double about(size_t sample) const;

  Benchmark& benchmark_;
  const Clock clock_;
  std::vector<double>& seen_;
  bool sampled_ = false;
  double sampled_at_seconds_ = 0;
};

}  // namespace headroom::profiler
