#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

// A request lives from the event that asks for it to the event that returns it. Drawn over events and offsets
// it is a rectangle: as wide as its live range, as high as its bytes. To place requests is to move such
// rectangles up and down until none overlaps another and the highest edge is as low as possible. Here are
// five requests. On the left each took the lowest gap in the order a, b, c, d, e: behind b there is a gap
// that is too small for e. On the right e was placed earlier, and there is no gap where most is live.
//
//  offset                             offset
//   6                   ┌─────┐     6
//                       │     │
//   5                   │  e  │     5                   ┌─────┐
//                       │     │                         │     │
//   4             ┌─────┴─────┤     4    ┌──────────────┤  e  │
//                 │     d     │          │      b       │     │
//   3    ┌────────┴─────┬─────┘     3    └────────┬─────┴─────┤
//        │      b       │                         │     d     │
//   2 ┌──┴─────┬────────┴─────┐     2 ┌────────┬──┴───────────┤
//     │        │              │       │        │              │
//   1 │   a    │      c       │     1 │   a    │      c       │
//     │        │              │       │        │              │
//   0 └────────┴──────────────┘     0 └────────┴──────────────┘
//     0        3        6    events     0        3        6    events
namespace headroom {

/// An offset for each request: no two requests that are live at the same time overlap.
struct Placement {
  int64_t bytes = 0;             ///< of the reservation: the highest edge
  int64_t live_bytes = 0;        ///< most that are live at one time: no placement takes less
  std::vector<int64_t> offsets;  ///< by request
};

/// Finds offsets for all requests at once, since all of them are known before the decode.
/// 1. Requests that can lie where others lie share their offsets (distinct_requests.h).
/// 2. In some order of importance each request takes the lowest gap between those that are live with it, as
///    inference runtimes share their buffers (Pisarchyk and Lee 2020, arXiv:2001.03288). What ends up too
///    high becomes more important, and all are placed again (squeaky wheel optimisation, Joslin and Clements
///    1999).
/// 3. Where that leaves gaps, what lies too high is put where least stands in the way, and that elsewhere
///    (ejection_repair.h).
/// Deterministic. Where little more than the live bytes and no more than `enough_bytes` are needed, it does
/// not look much further. What is found so is found again where just what it takes is enough.
Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes = 0);

}  // namespace headroom
