#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <vector>

#include "decoder/runtime/tile.h"

namespace headroom {

double median(std::vector<double> values);

/// The machine's pace: what one small convolution takes right now. Other tenants of a processor make all work
/// slower by up to a half, for seconds or minutes; times are compared at one pace.
class Pace {
 public:
  /// Takes memory of the current pool.
  Pace();

  /// Measures the reference convolution, unless that was done within the last 20 ms; returns which
  /// measurement it is.
  size_t look();
  /// Seconds of the reference about then, over its seconds throughout: medians, which single slips do not
  /// move.
  double at(size_t look) const;

 private:
  Tile input_, output_;
  at::Tensor kernel_, bias_;
  std::vector<double> seen_;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace headroom
