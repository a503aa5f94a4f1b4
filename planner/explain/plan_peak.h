#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "planner/explain/live_memory.h"

// Finds the pass and the step that determine a plan's peak. Explain, the report and the window all use this
// answer.
namespace headroom::planner {

/// The moment of a plan's peak memory.
struct PlanPeak {
  size_t pass = 0;
  std::string pass_name;
  std::string step;  ///< the running step, as explain names it
  int64_t bytes = 0;
  std::vector<LiveEntry> live;  ///< largest first; their bytes add up to `bytes`
  SweepPoint point{};           ///< position in the pass, with the step's index
};

/// Index of the first pass with the largest predicted peak. 0 if no pass has one.
size_t peak_pass(const Plan& plan);

/// Device memory at the peak of peak_pass(). The plan may predict more there, because a profile's workspaces
/// are not listed in the plan. The difference counts as workspace. The plan must be valid and have a pass.
PlanPeak peak_of_plan(const Plan& plan, const Model& model);
/// peak_of_plan() by the memory model that the plan was made with.
PlanPeak peak_of_plan(const Plan& plan, const Model& model, const MemoryModel& memory);

/// Bytes of the peak by kind, largest first. Entries are named by the kind's title.
std::vector<LiveEntry> by_kind(const std::vector<LiveEntry>& live);

}  // namespace headroom::planner
