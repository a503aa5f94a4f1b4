#pragma once

#include <functional>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/runtime/weights.h"

namespace headroom {

/// Decodes on a GPU, in one reservation that is as large as the plan's rehearsal finds it to be. Throws as
/// DecodeSession::decode() does, and LimitExceeded before anything is taken where the reservation is larger
/// than the plan's limit.
RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& weights,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading = {});

}  // namespace headroom
