#pragma once

#include <vector>

#include "profiler/measure/operator_benchmark.h"
#include "profiler/measure/clock.h"

namespace headroom {

double median(std::vector<double> values);

/// A device's pace: what its reference call takes right now. Other tenants of a processor make all work
/// slower by up to a half, for seconds or minutes, and a GPU's clocks follow its warmth; times are compared
/// at one pace.
class Pace {
 public:
  Pace(Bench& bench, Clock clock) : bench_(bench), clock_(std::move(clock)) {}

  /// Measures the reference, unless that was done a moment ago; returns which measurement it is.
  size_t look();
  /// Seconds of the reference about then, over its seconds throughout: medians, which single slips do not
  /// move.
  double at(size_t look) const;

 private:
  Bench& bench_;
  const Clock clock_;
  std::vector<double> seen_;
  double looked_at_seconds_ = 0;
};

}  // namespace headroom
