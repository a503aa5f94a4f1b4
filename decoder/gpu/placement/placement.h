#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// A copy of a block to another place, which is free at that time.
struct Move {
  size_t event = 0;    ///< the move happens before this event of the decode
  int64_t number = 0;  ///< number of the block's request
  int64_t bytes = 0;
  int64_t from = 0, to = 0;
  bool operator==(const Move&) const = default;
};

int64_t bytes_of(std::span<const Move> moves);

/// A block that is live between two passes, with its current offset and its offset in the next pass.
struct StandingBlock {
  int64_t number = 0, bytes = 0;
  int64_t from = 0, to = 0;
};

/// A copy of one or more adjacent blocks.
struct Copy {
  int64_t bytes = 0, from = 0, to = 0;
  bool operator==(const Copy&) const = default;
};
/// Copies, in order, that carry out these moves. Adjacent blocks that stay adjacent are copied together.
std::vector<Copy> copies_of(std::span<const Move> moves);

/// Orders moves that bring all blocks to their target offsets. If every target is occupied, a block is put
/// aside first. Moves use only [begin, end), which must hold no other data. Empty if the search finds no such
/// order.
///
///      from           to            a cannot go straight to where b lies: b is put aside first
///     ┌───┐         ┌───┐
///     │ a │         │ b │           1. b to the end   2. a to its place   3. b to its place
///     ├───┤         ├───┤
///     │ b │         │ a │
///     ├───┤         ├───┤
///     │   │ free    │   │ free
///     └───┘         └───┘
std::optional<std::vector<Move>> moves_of(std::vector<StandingBlock> blocks, size_t event, int64_t begin,
                                          int64_t end);

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
