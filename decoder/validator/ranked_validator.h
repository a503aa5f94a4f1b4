#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/validator/validator.h"

namespace headroom {

/// Checks the plans of several ranks against the graph alone: that ranks own all rows, each one once; that
/// each plan is valid (validate() of one plan) and that all of them run the same passes; that every row which
/// a rank reads of another one comes once, after its pass, from the rank that owns it; that no rank waits in
/// a circle; and the bytes that each rank sends. Places are those of the plan's file, such as
/// `ranks[1].plan.kept[3] (decoder.conv_in)` and `transfers[7]`. Returns what is wrong, at most 20 entries.
/// Never throws on the plan's data, however odd.
std::vector<Violation> validate(const RankedPlan& plan, const Model& model);

/// Throws what require_none() does. `origin` is the plan's file, for the message.
void require_valid(const RankedPlan& plan, const Model& model, const std::string& origin);

}  // namespace headroom
