#pragma once

#include "decoder/gpu/dry_run.h"

namespace headroom {

/// A dry run of a plan on a GPU. Throws LimitExceeded where it takes more of the GPU's memory, or of the
/// host's, than the plan's limits.
DryRun run_dry_within_limit(const Model& model, const Plan& plan);

}  // namespace headroom
