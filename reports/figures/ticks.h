#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/figures/unit.h"

namespace headroom::reports {

struct Range {
  double least = 0;
  double most = 0;
};

struct Tick {
  double at = 0;
  std::string label;
};

/// Round values within the range, about `most` of them or fewer. Bytes use powers of 1024 ("256 MiB", "1
/// GiB"). Pixels on a logarithmic axis use squares ("512×512"). All else uses 1, 2 and 5 times powers of ten.
/// The largest value sets the unit. No two labels are alike.
std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most);

/// A value with digits enough to tell it from a value one `step` away, in the unit of its size.
std::string fine_label(Unit unit, double value, double step);

}  // namespace headroom::reports
