#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom::planner {

struct ScheduleOptions {
  /// Prints this pass alone, with a line for every band. Unset: all passes. Alike bands share a line, and a
  /// long pass has its first bands, its last bands and the one of its peak.
  std::optional<size_t> pass{};
  /// Rows that the ranks of a plan exchange; the plan is that of one of them.
  std::vector<RowTransfer> transfers{};
};

/// The order of events in a decode, for people: which kept tensors a pass begins with, the steps of a tile
/// with the memory that each takes and gives back, the blocks that come and go with each band, and the
/// tensors that leave at the end. All amounts have one unit. The largest live amount is the plan's predicted
/// peak. Only for valid plans. Throws InputError where there is no such pass.
std::string schedule(const Plan& plan, const Model& model, const ScheduleOptions& options = {});

}  // namespace headroom::planner
