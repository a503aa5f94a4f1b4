#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "planner/explain/live_memory.h"

// Which pass and which step decide a plan's peak: the one answer that explain, report and window give.
namespace headroom::planner {

/// The highest moment of a plan.
struct PlanPeak {
  size_t pass = 0;
  std::string pass_name;
  std::string step;  ///< what runs then, as explain names it
  int64_t bytes = 0;
  std::vector<LiveEntry> live;  ///< largest first; their bytes add up to `bytes`
  SweepPoint point{};           ///< in the pass; its step by number
};

/// The first pass with the largest predicted peak, or the first of all where there is none.
size_t peak_pass(const Plan& plan);

/// Memory on the device at the highest moment of peak_pass(). The plan may predict more there, for workspaces
/// in a profile that the plan does not list. That difference counts as workspace. The plan must be valid and
/// have a pass.
PlanPeak peak_of_plan(const Plan& plan, const Model& model);
/// As above, with the memory model that the plan was made with.
PlanPeak peak_of_plan(const Plan& plan, const Model& model, const MemoryModel& memory);

/// Bytes of the peak by kind, largest first; the name of each is its kind's title.
std::vector<LiveEntry> by_kind(const std::vector<LiveEntry>& live);

}  // namespace headroom::planner
