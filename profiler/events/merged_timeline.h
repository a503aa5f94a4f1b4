#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// Something that the trace is told, at its time there.
struct TimelineEntry {
  enum class What : uint8_t { ledger, scope_begins, step_ends, allocated, freed, counted };
  int64_t at_ns = 0;
  /// Of one moment: first what the driver gives, last what it takes back.
  int rank = 1;
  What what{};
  size_t event = 0;
};

/// All that a trace is told of these events, in its order: the decode's own in the order of the host, at the
/// times at which the device meets them; what the driver gives and takes at the times at which it does.
std::vector<TimelineEntry> merged_timeline_of(const std::vector<DeviceEvent>& events,
                                              const ScopeTimes& times);

}  // namespace headroom::profiler
