#pragma once

#include <span>
#include <vector>

#include "decoder/gpu/live_range.h"
#include "decoder/gpu/placement.h"

namespace headroom {

/// Places requests in the order in which they come, each in the smallest gap of the moment, but behind the
/// one before it in a series where that can be. `together`: the first of a series takes a gap for all of it.
/// The first requests have the offsets of `held`. Takes no comparisons of pairs; leaves live_bytes 0.
Placement place_as_they_come(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                             bool together, std::span<const int64_t> held = {});

}  // namespace headroom
