#pragma once

#include <functional>
#include <vector>

#include "decoder/trace/trace_builder.h"
#include "profiler/events/scope_times.h"

namespace headroom::profiler {

/// Puts what the device ran into the trace, with the steps that it was for and what each step took in all.
/// What was over before the trace begins is left out.
void add_activities(const std::vector<DeviceEvent>& events, const ScopeTimes& times,
                    const std::function<double(int64_t at_ns)>& seconds, const TraceBounds& bounds,
                    Trace& trace);

}  // namespace headroom::profiler
