#pragma once

#include "decoder/plan/plan.h"
#include "decoder/trace/trace_builder.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Joins all captured events of a decode of this plan, in any order, into one trace. At every event the bytes
/// of all kinds add up to the captured driver allocations. At a driver query they add up to the driver's
/// count. Unattributed bytes then count as the context's.
///
/// Times are the GPU's if its work was captured together with scopes. A step's memory then exists from the
/// start of the step's first kernel to the end of its last one. Otherwise times are the host's. Lost records
/// are missing from the trace and counted in it. No kind of memory falls below zero because of them.
///
/// The limit and the model's name come from the plan.
Trace join_events(const DeviceRecording& recording, const Plan& plan, const TraceBounds& bounds = {});

}  // namespace headroom::profiler
