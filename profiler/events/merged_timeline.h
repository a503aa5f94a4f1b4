#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// An event and its time on the merged timeline.
struct TimelineEntry {
  enum class What : uint8_t { ledger, scope_begins, step_ends, allocated, freed, counted };
  int64_t at_ns = 0;
  /// Order of events at the same time: driver allocations first, driver frees last.
  int rank = 1;
  What what{};
  size_t event = 0;
};

/// Merges a recording's events into one timeline. The decode's events keep the host's order and get the times
/// at which the device reaches them. Driver events keep the driver's times.
std::vector<TimelineEntry> merged_timeline_of(const std::vector<DeviceEvent>& events,
                                              const ScopeTimes& times);

}  // namespace headroom::profiler
