#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/explain/remedy.h"

namespace headroom::planner {

/// The request in words: "sdxl 1024x1024, 9 frames, batch 2, fp32 on cpu".
std::string request_line(const Request& request);

/// Summary of a valid plan in about eight lines: the request, the peak with its pass and its largest entries,
/// the longest passes, changes that lower the peak, and the proven bound.
/// \param lower        unset if nobody searched for changes; then `lower_remark` gives the reason.
std::string summarise(const Plan& plan, const Model& model, const std::optional<LowerPeak>& lower,
                      const std::string& lower_remark = {});

/// Remedies as JSON for programs: `remedies[]` with `change`, `smallest_limit_bytes`, `seconds` and an
/// optional `about_as_fast`; `not_looked_at[]` and `not_looked_at_as_fast[]`.
nlohmann::json to_json(const LowerPeak& lower);

}  // namespace headroom::planner
