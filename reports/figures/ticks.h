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

/// Round values within the range, about `most` of them or fewer: of bytes in powers of 1024 ("256 MiB", "512
/// MiB", "1 GiB"), of pixels on a logarithmic axis squares ("512×512", "1024×1024"), of everything else 1, 2
/// and 5 times powers of ten, the unit chosen by the largest. No two labels are alike. For pages and windows
/// alike.
std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most);

}  // namespace headroom::reports
