#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// The largest difference between the driver's count of a GPU's memory and ours.
struct DriverDifference {
  double seconds = 0;
  int64_t driver_bytes = 0;
  int64_t counted_bytes = 0;  ///< our own count, all kinds together
};

/// None if there are no driver samples. Several moments may share the time of a sample. The one closest to
/// the driver's count is then used.
std::optional<DriverDifference> largest_difference(const Timeline& timeline);

/// The driver's count from `begin_seconds` to `end_seconds` as a series. Each column has at most two points:
/// its highest count and its last.
Series driver_series(const std::vector<DriverSample>& driver, double begin_seconds, double end_seconds,
                     size_t columns);

}  // namespace headroom::reports
