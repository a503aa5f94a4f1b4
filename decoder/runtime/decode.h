#pragma once

#include <functional>
#include <string>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/runtime/events.h"
#include "decoder/runtime/weights.h"

namespace headroom {

/// Starts LibTorch and runs one convolution, so that what libraries allocate once is there before anything is
/// measured. Idempotent. `threads` of 0 leaves LibTorch's choice.
void start_libraries(int threads);

/// Names and versions of the libraries that decide times and workspaces, e.g. "LibTorch 2.11.0, oneDNN 3.10.2".
std::string library_versions();
/// The processor's name and the threads in use.
std::string device_name();
int threads_in_use();

/// Runs the whole plan within its limit: weights, every slice of the batch, output. start_libraries() first.
/// Throws InputError where the latent does not have the plan's shape or the plan's dtype cannot be run;
/// LimitExceeded, DeviceError. The sink is not finished: that is the caller's, once all is well.
RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const Array& latent, PictureSink& sink,
                EventSink* events, const std::function<void(double)>& loading = {});

}  // namespace headroom
