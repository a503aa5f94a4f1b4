#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// Where each request lies in one segment of memory: no two that are live at once overlap.
struct Placement {
  int64_t bytes = 0;             ///< of the whole segment
  int64_t live_bytes = 0;        ///< most that are live at one time: no placement takes less
  std::vector<int64_t> offsets;  ///< by request
};

/// Finds places for everything at once, since all that will be asked for is known: each request, in some
/// order of importance, takes the lowest gap between those that are live with it; what ended up too high
/// becomes more important, and all are placed anew (squeaky wheel optimisation, Joslin and Clements 1999,
/// over the greedy placement that inference runtimes share their buffers by, Pisarchyk and Lee 2020,
/// arXiv:2001.03288). Parts that ask for the same one after another share their places; where all that leaves
/// gaps, tiles have regions, and these are placed. Deterministic. Takes at most a second or two.
Placement place(const MemoryRequests& requests);

}  // namespace headroom
