#pragma once

#include "decoder/plan/plan.h"
#include "decoder/trace/trace_builder.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Makes one trace of all captured events of a decode of this plan, in whatever order they are. At every
/// event the bytes of all kinds add up to what the driver has given out, as far as that was captured. Where
/// the driver was asked, they add up to what it counted: bytes that nobody claims are the context's.
///
/// Times are the GPU's where its work was captured with the scope that asked for it. A step's memory is then
/// there from the begin of the step's first kernel to the end of its last one. Otherwise times are the
/// host's. Lost records are missing from the trace and counted in it. No kind of memory falls below zero for
/// them.
///
/// The limit and the model's name are the plan's.
Trace join_events(const DeviceRecording& recording, const Plan& plan, const TraceBounds& bounds = {});

}  // namespace headroom::profiler
