#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/calls/reservation_sizes.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

struct PlacedPass {
  /// Highest used offset of the reservation, plus a picture that stays in memory.
  int64_t reserved_bytes = 0;
  /// Sizes of the copies that move tensors before the pass, in each micro-batch.
  std::vector<int64_t> copied_bytes;
};

/// Adds a CUDA plan's fragmentation to its reserve and to its predicted peaks. On CUDA all memory comes from
/// one reservation on the device and one in host memory, so gaps arise between live allocations. A dry run
/// (decoder/gpu/dry_run.h) finds them. The allocator's rounding counts as well. Raises the plan's limits if
/// the gaps do not fit.
///
/// Returns an entry for each pass. Plans for the CPU have no such gaps, because the CPU's pool maps pages on
/// demand: they stay unchanged, and the result is empty.
std::vector<PlacedPass> add_gaps(Plan& plan, const Model& model, const ReservationSizes& sizes = {});

/// Bytes that a plan needs, by pass of the space: the most live bytes, and the highest used offset of the
/// reservation (add_gaps()). 0 for passes that do not run.
struct PlacedBytes {
  std::vector<int64_t> live, reserved;
};

/// By pass of the space: bytes below the limit that the pass must leave unused, so that gaps find room
/// (SearchLimits::held_back_bytes).
using HeldBack = std::vector<int64_t>;

/// Passes that must use less memory because the plan's reservation exceeds the limit. They are the passes
/// that exceed it by at least their free bytes. If there are none, the fullest pass that exceeds the limit.
/// Empty if the plan has room.
std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes);

/// Raises `held_back` for these passes, so that each gets below its live bytes in this plan. It goes below
/// them by `share` of the bytes by which its reservation exceeds the limit.
HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share);

}  // namespace headroom::planner
