#pragma once

#include <cstdint>
#include <vector>

#include "decoder/runtime/map_view.h"

namespace headroom {

/// Count, mean and M2 (sum of squared differences from the mean) of a set of values.
struct Moments {
  double count = 0;
  double mean = 0;
  double m2 = 0;
};

/// The moments of the union of two disjoint sets (Chan, Golub, LeVeque 1983, eq. 2.1).
Moments merged(const Moments& a, const Moments& b);

/// Statistics of each group of channels of each batch item, gathered tile by tile; each position counts once.
class GroupStatistics {
 public:
  GroupStatistics(int64_t items, int64_t groups)
      : groups_(groups), moments_(static_cast<size_t>(items * groups)) {}

  /// Merges a region of every item.
  void add(const MapView& view, const Region& region, int64_t items);
  /// False where a NaN or an infinity went in.
  bool finite() const;
  /// Scale and shift per channel of one item so that x * scale + shift = (x - mean) / sqrt(variance +
  /// epsilon)
  /// * weight + bias.
  void affine(int64_t item, int64_t channels, double epsilon, const float* weight, const float* bias,
              float* scale, float* shift) const;

 private:
  int64_t groups_;
  std::vector<Moments> moments_;
};

}  // namespace headroom
