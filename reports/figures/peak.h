#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/cost/cost_model.h"
#include "planner/search/configurations.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {

/// What decided a plan's peak.
struct PeakDecision {
  size_t pass = 0;
  std::string pass_name;
  std::string step;  ///< what runs then, as `headroom-plan explain` names it
  int64_t bytes = 0;
  std::vector<LiveEntry> live;  ///< largest first
};
/// `plan` must hold a plan.
PeakDecision what_decided(const DocumentPtr& plan);

/// One change, and the smallest limit that there is with it alone.
struct Lever {
  std::string change;   ///< as options of headroom-plan: "--dtype bf16"; empty for the request as it is
  std::string meaning;  ///< in words
  int64_t smallest_limit_bytes = 0;
  double seconds = 0;  ///< of the plan under that limit
};

/// What would lower the peak of this request and by how much: the request as it is at its smallest limit,
/// then each change alone that has a smaller one, lowest first. `go_on` is asked between them, and what there
/// is by then is returned where it says false. `options.limit_bytes` is not used.
std::vector<Lever> levers(const Model& model, const Request& request, const planner::PlanOptions& options,
                          const planner::CostModel& costs, const std::function<bool()>& go_on);

/// With what each saves of `peak_bytes`. The lowest stands out.
Table levers_table(const std::vector<Lever>& levers, int64_t peak_bytes);

}  // namespace headroom::reports
