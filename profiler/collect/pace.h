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

  /// Seconds of the reference convolution; not measured again within 20 ms.
  double now();
  /// The median of all that were measured; there must be one.
  double usual() const;

 private:
  Tile input_, output_;
  at::Tensor kernel_, bias_;
  std::vector<double> seen_;
  std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace headroom
