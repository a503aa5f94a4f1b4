#pragma once

#include <vector>

#include "profiler/measure/clock.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// A device's clock drift: how long its reference call takes now, relative to its usual time. Other tenants
/// of a processor make all work slower by up to a half, for seconds or minutes. A GPU's clock follows its
/// temperature. Measured times are divided by the drift before they are compared.
class ClockDrift {
 public:
  /// Goes on from what was seen before, and adds to it.
  ClockDrift(Benchmark& benchmark, Clock clock, std::vector<double>& seen)
      : benchmark_(benchmark), clock_(std::move(clock)), seen_(seen) {}

  /// Measures the reference, unless that was done a moment ago; returns which measurement it is.
  size_t look();
  /// Seconds of the reference about then, over its seconds throughout: medians, which single slips do not
  /// move.
  double at(size_t look) const;
  /// Distance of the drift from 1, on average over all looks.
  double typical() const;

 private:
  double about(size_t look) const;

  Benchmark& benchmark_;
  const Clock clock_;
  std::vector<double>& seen_;
  bool looked_ = false;
  double looked_at_seconds_ = 0;
};

}  // namespace headroom::profiler
