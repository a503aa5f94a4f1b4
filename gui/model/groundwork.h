#pragma once

#include <chrono>
#include <memory>

#include "gui/model/found_plans.h"
#include "gui/model/workspace.h"
#include "planner/search/finish_plan.h"

namespace headroom::gui {

/// Whether two questions are the same but for the limit and the time to search: what one finds out serves the
/// other.
bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b);

/// The model of a question, of whose pictures it can make one. Throws InputError as the tools do.
Model model_of(const PlanningQuestion& question);
/// What its steps cost. Throws InputError where its profile is of another model or dtype.
planner::CostModel costs_of(const PlanningQuestion& question, const Graph& graph);

/// What all questions that differ in their limit have in common, for one thread. Never moved: spaces refer to
/// model and costs.
class Groundwork {
 public:
  /// Throws InputError as model_of() and costs_of() do.
  Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found);
  Groundwork(const Groundwork&) = delete;
  Groundwork& operator=(const Groundwork&) = delete;

  const PlanningQuestion& question() const { return question_; }
  planner::Problem problem_under(int64_t limit_bytes) const;
  FoundPlans& found() const { return *found_; }

  /// What is known under a limit, or found out in about that time: without a proof where that was too short.
  planner::ConfigurationSearch search(int64_t limit_bytes, std::chrono::milliseconds time) const;
  /// Cannot be stopped, and may take a second.
  planner::SmallestLimit smallest() const;
  /// The plan of a search that found one, which is in no file yet; null where none with its gaps fits the
  /// limit. Throws InputError where the profile does not speak of its tiles.
  reports::DocumentPtr plan(const planner::ConfigurationSearch& search, int64_t limit_bytes,
                            const planner::GapSearch& gaps) const;

 private:
  const PlanningQuestion question_;
  const Model model_;
  const planner::CostModel costs_;
  const planner::Spaces spaces_;
  const std::shared_ptr<FoundPlans> found_;
};

}  // namespace headroom::gui
