#pragma once

#include "decoder/gpu/calls/reservation_sizes.h"
#include "decoder/gpu/dry_run.h"

namespace headroom {

/// A dry run of a plan on a GPU whose allocator has these sizes. Throws LimitExceeded where it takes more of
/// the GPU's memory, or of the host's, than the plan's limits.
DryRun run_dry_within_limit(const Model& model, const Plan& plan, const ReservationSizes& sizes);

}  // namespace headroom
