#pragma once

#include "decoder/gpu/placement.h"

namespace headroom {

/// So little more than what is live that no more effort is worth its time.
int64_t good_bytes(int64_t live_bytes);
/// So much more than what is live that a placement with less is not bettered where it has room.
int64_t fair_bytes(int64_t live_bytes);

/// Places all requests at once; nothing is moved.
/// 1. In some order of importance each request takes the lowest gap between those that are live with it, as
///    inference runtimes share their buffers (Pisarchyk and Lee 2020, arXiv:2001.03288). What ends up too
///    high becomes more important, and all are placed again (squeaky wheel optimisation, Joslin and Clements
///    1999).
/// 2. Where that leaves gaps, what lies too high is put where least stands in the way, and that elsewhere
///    (ejection_repair.h); with full effort.
/// Deterministic. Where little more than the live bytes and no more than `enough_bytes` are needed, it does
/// not look much further. What is found so is found again where just what it takes is enough.
Placement place_as_a_whole(const MemoryRequests& requests, int64_t enough_bytes, PlacementEffort effort);

}  // namespace headroom
