#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/block_moves.h"
#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// An offset for each request. Requests that are live at the same time do not overlap.
struct Placement {
  int64_t bytes = 0;             ///< size of the reservation: the highest end offset
  int64_t live_bytes = 0;        ///< peak of live bytes, a lower bound on `bytes`
  std::vector<int64_t> offsets;  ///< by request, before any move
  std::vector<Move> moves;       ///< in order of execution
};

/// The offset of a request from one event to another, inclusive.
struct Stay {
  int64_t number = 0, offset = 0;
  int64_t begin = 0, end = 0;
};
/// The stays of all requests with live ranges `ranges`. A moved request has several.
std::vector<Stay> stays_of(const std::vector<Buffer>& ranges, const Placement& placement);

/// Finds offsets for all requests before the decode. Kept blocks may move between passes if memory is short.
/// The search stops at a placement of at most `enough_bytes`.
///
/// Deterministic and consistent between limits: if b >= find_placement(requests, a).bytes, then
/// find_placement(requests, b).bytes <= b. So a decode fits the plan's peak even under another limit.
Placement find_placement(const MemoryRequests& requests, int64_t enough_bytes = 0);

}  // namespace headroom
