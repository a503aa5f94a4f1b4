#include "gui/model/run_of_plan.h"

#include "decoder/base/errors.h"
#include "planner/explain/analyze.h"

namespace headroom::gui {

reports::DocumentPtr run_of_plan(const Workspace& workspace, const reports::DocumentPtr& plan) {
  std::vector<reports::DocumentPtr> candidates{workspace.chosen<RunStats>()};
  candidates.insert(candidates.end(), workspace.documents().rbegin(), workspace.documents().rend());
  for (const reports::DocumentPtr& document : candidates) {
    if (document == nullptr || document->as<RunStats>() == nullptr) continue;
    // Statistics of several ranks describe the passes of rank 0.
    const bool of_ranks = !document->as<RunStats>()->ranks.empty();
    if (of_ranks != plan->rank.has_value() || plan->rank.value_or(0) != 0) continue;
    try {
      planner::analyze(plan->as<reports::PlanDocument>()->plan, plan->file.string(),
                       *document->as<RunStats>(), document->file.string());
      return document;
    } catch (const InputError&) {
      // Mismatched statistics belong to another plan.
    }
  }
  return nullptr;
}

}  // namespace headroom::gui
