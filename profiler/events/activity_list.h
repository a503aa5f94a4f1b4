#pragma once

#include <functional>
#include <vector>

#include "decoder/trace/trace_builder.h"
#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// Adds the device's activities to the trace, with the step of each, and adds up device time by step. Omits
/// activities that began before the trace.
void add_activities(const std::vector<DeviceEvent>& events, const ScopeTimes& times,
                    const std::function<double(int64_t at_ns)>& seconds, const TraceBounds& bounds,
                    Trace& trace);

}  // namespace headroom::profiler
