#pragma once

#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/weights/parameter_source.h"

namespace headroom::profiler {

/// Decodes each plan once, of a random latent, and times the engines for its convolutions meanwhile. A choice
/// holds for the very problem that was timed: the fastest engine changes with the number of positions. Throws
/// as GpuSession does.
std::vector<EngineChoice> time_plan_engines(const Model& model, const std::vector<Plan>& plans,
                                            const ParameterSource& weights, gpu::Gpu& gpu);

/// Adds choices to a profile's. A newer choice replaces an older one for the same convolution.
void add_engine_choices(std::vector<EngineChoice>& all, const std::vector<EngineChoice>& timed);

}  // namespace headroom::profiler
