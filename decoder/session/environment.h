#pragma once

#include <string>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// What costs that are measured now hold for: of this GPU, or where there is none of the processor.
/// start_libraries() first.
Environment environment_here(const gpu::Gpu* gpu);

/// Costs that were measured elsewhere say nothing of times and workspaces here. Throws InputError, which has
/// both in full, where the plan's are neither assumed nor of `here`. `origin` is the plan's file.
void check_environment(const Plan& plan, const Environment& here, const std::string& origin);

}  // namespace headroom
