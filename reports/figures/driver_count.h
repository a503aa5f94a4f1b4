#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// Where the driver's count of a GPU's memory and ours were furthest apart.
struct DriverDifference {
  double seconds = 0;
  int64_t driver_bytes = 0;
  int64_t counted_bytes = 0;  ///< of all kinds together
};

/// None where the driver was never asked. Of moments at one time, which nothing tells apart from when the
/// driver was asked, the one that comes closest counts.
std::optional<DriverDifference> largest_difference(const Timeline& timeline);

/// "counted by the driver" from `begin_seconds` to `end_seconds`, in at most two points for each column: the
/// highest count and the last.
Series driver_series(const std::vector<DriverSample>& driver, double begin_seconds, double end_seconds,
                     size_t columns);

}  // namespace headroom::reports
