#pragma once

#include <vector>

namespace headroom {

/// Count, mean and M2 (sum of squared differences from the mean) of a set of values.
struct Moments {
  double count = 0;
  double mean = 0;
  double m2 = 0;
};

/// The moments of the union of two disjoint sets (Chan, Golub, LeVeque 1983, eq. 2.1).
Moments merged(const Moments& a, const Moments& b);

}  // namespace headroom
