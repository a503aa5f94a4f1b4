#pragma once

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/trace/trace_builder.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// What a recording says of its plan, so that it is not joined by another: size, device, passes and peak, but
/// neither file nor model, which may lie elsewhere.
std::string recorded_plan(const Plan& plan);

/// Makes one trace of all that was heard of a decode of this plan, whoever told it and in whatever order. At
/// every event the bytes of all kinds add up to what the driver has given out as far as it was heard, and to
/// all that it counts wherever it was asked: what nobody claims is the context's.
///
/// Where the GPU's work was heard and for which scope it was, times are the GPU's: what a step takes is there
/// when its first kernel begins, what it hands back is there until its last one ends. Otherwise they are the
/// host's. Whatever was lost is missing, and is counted; nothing is below zero for it.
///
/// The limit and the model's name are the plan's. Throws InputError where the
/// recording is of another plan, or an event of a pass, step or tensor that this one does not have.
Trace join_events(const DeviceRecording& recording, const Plan& plan, const Graph& graph,
                  const TraceBounds& bounds = {});

}  // namespace headroom::profiler
