#pragma once

#include "reports/figures/ticks.h"

namespace headroom::reports {

/// Maps values of an axis to coordinates. Values beyond the range map to its ends.
class Scale {
 public:
  /// `from` and `to` are the coordinates of the range's ends. `to` may be smaller than `from`. The range must
  /// not be empty. A logarithmic range must be above 0.
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

}  // namespace headroom::reports
