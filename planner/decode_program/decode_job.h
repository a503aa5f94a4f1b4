#pragma once

#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// One decode by a plan.
struct DecodeJob {
  Model model;  ///< built for the frames in the plan's request
  Plan plan;
  ParameterSource weights;
  Array latent;
  gpu::Gpu* gpu = nullptr;  ///< null for a CPU plan
};

}  // namespace headroom
