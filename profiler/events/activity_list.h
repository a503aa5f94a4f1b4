#pragma once

#include <functional>
#include <vector>

#include "decoder/trace/trace_builder.h"
#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// Adds the device's activities to the trace, each with its step, and the device time of each step.
/// Activities that began before the trace are left out.
void add_activities(const std::vector<DeviceEvent>& events, const ScopeTimes& times,
                    const std::function<double(int64_t at_ns)>& seconds, const TraceBounds& bounds,
                    Trace& trace);

}  // namespace headroom::profiler
