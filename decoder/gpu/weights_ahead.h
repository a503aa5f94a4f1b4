#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/dry_run.h"

namespace headroom {

/// The earliest time at which a pass's weights can be copied to their place, while the pass before still
/// runs.
struct WeightsAhead {
  size_t event = 0;    ///< of the dry run: from this event on the place is free
  int64_t offset = 0;  ///< of the weights in the decode's memory
};

/// One entry per pass, for a plan that loads weights per pass. An event always lies after the start of the
/// previous pass. If it is the first event of the pass itself, its weights cannot be copied early.
std::vector<WeightsAhead> weights_ahead(const DryRun& dry_run);

}  // namespace headroom
