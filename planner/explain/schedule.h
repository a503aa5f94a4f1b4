#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

struct ScheduleOptions {
  /// Print only this pass, with a line for every band. Unset: print all passes. Then similar bands share a
  /// line, and a long pass shows only its first bands, its last bands and the band of its peak.
  std::optional<size_t> pass{};
  /// Rows that the ranks of a plan exchange; the plan is that of one of them.
  std::vector<RowTransfer> transfers{};
};

/// Text of all events in a decode, in order. For each pass it has the kept tensors at the beginning, the
/// steps of a tile with the memory that each allocates and frees, the blocks that each band moves, and the
/// tensors released at the end. All amounts use the same unit. The largest live amount equals the plan's
/// predicted peak. The plan must be valid. Throws InputError if the pass does not exist.
std::string schedule(const Plan& plan, const Model& model, const ScheduleOptions& options = {});

}  // namespace headroom::planner
