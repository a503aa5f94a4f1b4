#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// An event of the merged timeline, at its time there.
struct TimelineEntry {
  enum class What : uint8_t { ledger, scope_begins, step_ends, allocated, freed, counted };
  int64_t at_ns = 0;
  /// Order within one moment: first what the driver gives, last what it takes back.
  int rank = 1;
  What what{};
  size_t event = 0;
};

/// The events of a recording as one timeline. The decode's own stand in the host's order, at the times at
/// which the device reaches them. What the driver gives and takes stands at the driver's times.
std::vector<TimelineEntry> merged_timeline_of(const std::vector<DeviceEvent>& events,
                                              const ScopeTimes& times);

}  // namespace headroom::profiler
