#pragma once

#include "decoder/base/also_on_gpu.h"

namespace headroom {

/// Count, mean and M2 (sum of squared differences from the mean) of a set of values, such as a group of
/// channels in GroupNorm.
struct Moments {
  double count = 0;
  double mean = 0;
  double m2 = 0;
};

/// The moments of the union of two disjoint sets (Chan, Golub, LeVeque 1983, eq. 2.1).
HEADROOM_ALSO_ON_GPU inline Moments merged(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count;
  const double difference = b.mean - a.mean;
  return {count, a.mean + difference * (b.count / count),
          a.m2 + b.m2 + difference * difference * (a.count * b.count / count)};
}

}  // namespace headroom
