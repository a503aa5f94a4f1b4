#pragma once

#include <vector>

#include "profiler/measure/clock.h"
#include "profiler/measure/operator_benchmark.h"

namespace headroom::profiler {

/// A device's clock drift: current time of a reference call over its median time. Other tenants of a
/// processor slow all work by up to a half, for seconds or minutes. A GPU's clock follows its temperature.
/// Measured times are divided by the drift before they are compared.
class ClockDrift {
 public:
  /// Continues the reference times in `seen` and appends to them.
  ClockDrift(Benchmark& benchmark, Clock clock, std::vector<double>& seen)
      : benchmark_(benchmark), clock_(std::move(clock)), seen_(seen) {}

  /// Measures the reference call, unless the last measurement is recent enough. Returns the measurement's
  /// index.
  size_t look();
  /// Drift at a look: median reference time around that look over the median of all looks.
  double at(size_t look) const;
  /// Mean distance of the drift from 1 over all looks.
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
