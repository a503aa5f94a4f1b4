#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/block_moves.h"
#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// An offset for each request: no two requests that are live at the same time overlap.
struct Placement {
  int64_t bytes = 0;             ///< of the reservation: the highest edge
  int64_t live_bytes = 0;        ///< most that are live at one time: no placement takes less
  std::vector<int64_t> offsets;  ///< by request, where it lies at first
  std::vector<Move> moves;       ///< in their order
};

/// A place of a request, from an event up to and with another.
struct Stay {
  int64_t number = 0, offset = 0;
  int64_t begin = 0, end = 0;
};
/// The stays of all requests, whose live ranges are `ranges`. Requests that are moved have several.
std::vector<Stay> stays_of(const std::vector<LiveRange>& ranges, const Placement& placement);

/// Finds offsets for all requests, since all of them are known before the decode. Blocks that are kept may be
/// moved between passes where room is short. Looks for no smaller placement than one of `enough_bytes`.
///
/// Deterministic, and whoever allows what a placement takes finds one that takes no more: for any `a`, and
/// any `b` no less than find_placement(requests, a).bytes, find_placement(requests, b).bytes is at most `b`.
/// So a decode under another limit than its plan's fits the plan's peak.
Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes = 0);

}  // namespace headroom
