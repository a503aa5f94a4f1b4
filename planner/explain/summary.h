#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/explain/lower_peak.h"

namespace headroom::planner {

/// The request in words: "sdxl 1024x1024, 9 frames, batch 2, fp32 on cpu".
std::string request_line(const Request& request);

/// A plan in about eight lines: what is decoded and how, the peak with its pass and what is held there, the
/// longest passes, what would lower the peak, and what is proven. Only for valid plans.
/// \param lower        empty where it was not looked for; then `lower_remark` says why.
std::string summarise(const Plan& plan, const Model& model, const std::optional<LowerPeak>& lower,
                      const std::string& lower_remark = {});

/// Remedies for programs: `remedies[]` with `change`, `smallest_limit_bytes`, `seconds` and, where there is
/// one, `about_as_fast`; `not_looked_at[]` and `not_looked_at_as_fast[]`.
nlohmann::json to_json(const LowerPeak& lower);

}  // namespace headroom::planner
