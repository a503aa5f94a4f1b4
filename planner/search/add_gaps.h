#pragma once

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

}  // namespace headroom::planner
