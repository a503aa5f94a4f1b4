#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/figures/unit.h"

namespace headroom {

struct Range {
  double least = 0;
  double most = 0;
};

/// Where the values of an axis are drawn. Values beyond the range lie on its ends.
class Scale {
 public:
  /// `from` and `to` are the coordinates of the range's ends; `to` may be the smaller one. A logarithmic
  /// range is above 0, and no range is empty.
  Scale(Range range, bool logarithmic, double from, double to);
  double position(double value) const;
  bool holds(double value) const { return value >= range_.least && value <= range_.most; }
  const Range& range() const { return range_; }

 private:
  double share(double value) const;
  Range range_;
  bool logarithmic_;
  double from_, to_;
};

struct Tick {
  double at = 0;
  std::string label;
};

/// Round values within the range, about `most` of them or fewer: of bytes in powers of 1024 ("256 MiB", "512
/// MiB", "1 GiB"), of everything else in 1, 2 and 5 times powers of ten, the unit chosen by the largest.
std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most);

}  // namespace headroom
