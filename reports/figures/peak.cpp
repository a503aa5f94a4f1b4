#include "reports/figures/peak.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace headroom::reports {

PeakDecision peak_cause(const DocumentPtr& document) {
  const PlanDocument& planned = *document->as<PlanDocument>();
  return planner::peak_of_plan(planned.plan, planned.model);
}

bool has_parts(const RunStats& run) {
  return run.outside_bytes > 0 && run.pool_peak_bytes > 0;
}

std::string trace_beside_stats(const Trace& trace, const Timeline& timeline, const RunStats& run,
                               const std::string& stats_name) {
  constexpr double kSameTime = 0.02;  // a trace ends a little before the statistics
  const int64_t peak = timeline.total_bytes(timeline.peak());
  const std::string there = format(Unit::bytes, double(run.peak_bytes)),
                    here = format(Unit::bytes, double(peak));
  const bool same_run = std::abs(trace.seconds - run.seconds) <= kSameTime * run.seconds;
  if (!same_run) {
    return "This trace and " + stats_name + " are of two runs of the plan: peak " + here + " and " + there +
           ", time " + format(Unit::seconds, trace.seconds) + " and " + format(Unit::seconds, run.seconds) +
           ".";
  }
  if (here == there || !has_parts(run)) return "";
  return "The peak in " + stats_name + " is " + there + " and not " + here + ": it adds " +
         format(Unit::bytes, double(run.pool_peak_bytes)) + " of the decode and " +
         format(Unit::bytes, double(run.outside_bytes)) +
         " of other process memory, each at its own highest moment. The chart adds them moment by moment.";
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
