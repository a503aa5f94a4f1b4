#pragma once

#include <cupti.h>

#include <optional>

#include "profiler/events/device_events.h"

namespace headroom::profiler::cupti {

/// A CUPTI record, converted to an event.
struct RecordedEvent {
  DeviceEvent event;
  const char* kernel = nullptr;  ///< kernel's symbol, in CUPTI's memory; the event's name is then empty
};

/// Returns nothing for irrelevant records. Returns RecordsLost for invalid ones: no times, an end before the
/// begin, or impossible sizes.
std::optional<RecordedEvent> event_of(const CUpti_Activity& record);

}  // namespace headroom::profiler::cupti
