#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/block_moves.h"
#include "decoder/gpu/live_range.h"
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
  std::vector<int64_t> offsets;  ///< by request, where it lies at first
  std::vector<Move> moves;       ///< in their order
};

/// Where a request lies, from an event up to and with another.
struct Stay {
  int64_t number = 0, offset = 0;
  int64_t begin = 0, end = 0;
};
/// Of all requests, one stay after another; only of what is moved there are several. `ranges` are theirs.
std::vector<Stay> stays_of(const std::vector<LiveRange>& ranges, const Placement& placement);

enum class PlacementEffort {
  little,
  full,  ///< even if the last bytes take long
};

/// Finds offsets for all requests, since all of them are known before the decode. They stay where they are
/// put (placement_as_a_whole.h) or, where that takes more than `enough_bytes`, are moved between passes
/// (placement_by_pass.h). Deterministic: what is found where `enough_bytes` are enough is found again where
/// just what it takes is, with full effort.
Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes = 0,
                         PlacementEffort effort = PlacementEffort::full);

}  // namespace headroom
