#pragma once

#include <vector>

#include "decoder/gpu/calls/reservation_sizes.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

struct PlacedPass {
  int64_t reserved_bytes = 0;  ///< how far the reservation is used, and a picture that stays in memory
  /// Sizes of the copies that move tensors before the pass, in each micro-batch.
  std::vector<int64_t> copied_bytes;
};

/// On CUDA all memory is one reservation on the device and one in the host's memory, and what is live at one
/// time has gaps between it. Runs the plan dry (decoder/gpu/dry_run.h), adds the gaps on the device, and what
/// the allocator takes beyond them, to its reserve and to its predicted peaks, and raises its limits where
/// there is no room for them. Returns what that means for each pass. Plans for the CPU stay as they are: its
/// pool maps pages wherever they are needed; nothing is returned.
std::vector<PlacedPass> add_gaps(Plan& plan, const Model& model, const ReservationSizes& sizes = {});

}  // namespace headroom::planner
