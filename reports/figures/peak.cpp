#include "reports/figures/peak.h"

#include <algorithm>

namespace headroom::reports {

PeakDecision peak_cause(const DocumentPtr& document) {
  const PlanDocument& planned = *document->as<PlanDocument>();
  return planner::peak_of_plan(planned.plan, planned.model);
}

Table remedies_table(const std::vector<planner::Remedy>& remedies, int64_t peak_bytes) {
  Table table{"What would lower the peak", {}, {}};
  table.columns = {{.title = "change", .is_text = true, .explanation = "An option of headroom-plan."},
                   {.title = "meaning", .is_text = true},
                   {.title = "smallest limit",
                    .unit = Unit::bytes,
                    .bars = true,
                    .explanation = "The smallest limit that works with only this change."},
                   {.title = "saved", .unit = Unit::bytes, .explanation = "The plan's peak less this limit."},
                   {.title = "share", .unit = Unit::share, .explanation = "Saved share of the current peak."},
                   {.title = "time", .unit = Unit::seconds, .explanation = "Predicted, under that limit."}};
  const bool fast = std::any_of(remedies.begin(), remedies.end(), [](const planner::Remedy& remedy) {
    return remedy.about_as_fast.has_value();
  });
  if (fast) {
    const char* group = "in at most 5 % more time";
    table.columns.push_back(
        {.title = "peak",
         .unit = Unit::bytes,
         .explanation = "The lowest peak with this change in at most 5 % more time than the plan.",
         .group = group});
    table.columns.push_back(
        {.title = "time", .unit = Unit::seconds, .explanation = "Predicted, of that plan.", .group = group});
  }
  const auto lowest = std::min_element(remedies.begin(), remedies.end(),
                                       [](const planner::Remedy& a, const planner::Remedy& b) {
                                         return a.smallest_limit_bytes < b.smallest_limit_bytes;
                                       });
  for (const planner::Remedy& remedy : remedies) {
    const int64_t limit_bytes = remedy.smallest_limit_bytes.value();
    const auto saved = double(peak_bytes - limit_bytes);
    Cell share;
    if (peak_bytes > 0) share = saved / double(peak_bytes);
    table.rows.push_back({{remedy.option.empty() ? Cell("--limit") : Cell(remedy.option), remedy.meaning,
                           double(limit_bytes), saved, share, remedy.seconds.value()},
                          &remedy == &*lowest});
    if (!fast) continue;
    std::vector<Cell>& cells = table.rows.back().cells;
    cells.resize(cells.size() + 2);
    if (const auto& about = remedy.about_as_fast) {
      cells[cells.size() - 2] = double(about->peak_bytes);
      cells.back() = about->seconds;
    }
  }
  return table;
}

}  // namespace headroom::reports
