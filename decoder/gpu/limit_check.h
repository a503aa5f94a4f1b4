#pragma once

#include "decoder/gpu/calls/reservation_sizes.h"
#include "decoder/gpu/dry_run.h"

namespace headroom {

/// Dry run of a plan for an allocator with the given reservation sizes. Throws LimitExceeded if the plan
/// exceeds its limit of GPU memory or host memory.
DryRun run_dry_within_limit(const Model& model, const Plan& plan, const ReservationSizes& sizes);

}  // namespace headroom
