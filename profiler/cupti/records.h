#pragma once

#include <cupti.h>

#include <optional>

#include "profiler/events/device_events.h"

namespace headroom::profiler::cupti {

/// A record of CUPTI's as an event.
struct RecordedEvent {
  DeviceEvent event;
  const char* kernel = nullptr;  ///< of a kernel: its symbol, in CUPTI's memory. The event has no name then
};

/// None for records of no use. RecordsLost for one whose content is impossible: without times, ending before
/// it begins, larger than any memory.
std::optional<RecordedEvent> event_of(const CUpti_Activity& record);

}  // namespace headroom::profiler::cupti
