#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/validator/validator.h"

namespace headroom {

/// Checks the plans of several ranks against the graph alone. Returns the violations, at most 20 entries.
/// Never throws on the plan's data, however odd. The checks are:
/// - Every row has exactly one owner.
/// - Each plan is valid by itself, and all run the same passes.
/// - Every row that a rank reads from another arrives once, from its owner, after its pass.
/// - No rank waits in a cycle.
/// - The bytes that each rank sends are predicted correctly.
/// Places refer to the plan's file, such as `ranks[1].plan.kept[3] (decoder.conv_in)` and `transfers[7]`.
std::vector<Violation> validate(const RankedPlan& plan, const Model& model);

/// Throws like require_none() if the plan has violations. `origin` is the plan's file, for the message.
void require_valid(const RankedPlan& plan, const Model& model, const std::string& origin);

}  // namespace headroom
