#pragma once

#include <functional>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/runtime/events.h"
#include "decoder/runtime/weights.h"

namespace headroom {

/// What a plan for CUDA takes of a GPU's memory once everything has its place: found by rehearsing it, with
/// the interpreter itself. Throws LimitExceeded where that is more than the plan's limit.
int64_t reservation_bytes(const Model& model, const Plan& plan);

/// Decodes on a GPU, in one reservation of reservation_bytes(). Throws as DecodeSession::decode() does.
RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& weights,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading = {});

}  // namespace headroom
