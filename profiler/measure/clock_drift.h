#pragma once

#include <vector>

#include "profiler/measure/clock.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

double median(std::vector<double> values);

/// A device's clock drift: how long its reference call takes now, relative to its usual time. Other tenants
/// of a processor make all work slower by up to a half, for seconds or minutes. A GPU's clock follows its
/// temperature. Measured times are divided by the drift before they are compared.
class ClockDrift {
 public:
  ClockDrift(Benchmark& benchmark, Clock clock) : benchmark_(benchmark), clock_(std::move(clock)) {}

  /// Measures the reference, unless that was done a moment ago; returns which measurement it is.
  size_t look();
  /// Seconds of the reference about then, over its seconds throughout: medians, which single slips do not
  /// move.
  double at(size_t look) const;

 private:
  Benchmark& benchmark_;
  const Clock clock_;
  std::vector<double> seen_;
  double looked_at_seconds_ = 0;
};

}  // namespace headroom::profiler
