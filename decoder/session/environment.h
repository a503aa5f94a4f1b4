#pragma once

#include <string>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The environment of costs measured now, on this GPU or, if `gpu` is null, on the CPU. Call
/// start_libraries() first.
Environment environment_here(const gpu::Gpu* gpu);

/// Throws InputError if the plan's costs were measured in another environment than `here`: they do not
/// predict times and workspaces here. Assumed costs pass. The message names both environments in full.
/// `origin` is the plan's file.
void check_environment(const Plan& plan, const Environment& here, const std::string& origin);

}  // namespace headroom
