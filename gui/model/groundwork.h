#pragma once

#include <chrono>
#include <memory>

#include "gui/model/found_plans.h"
#include "gui/model/workspace.h"
#include "planner/answer/planner.h"
#include "planner/explain/peak.h"
#include "planner/search/finish_plan.h"

namespace headroom::gui {

/// True if two questions differ at most in their limit and search time. Plans found for one then serve the
/// other.
bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b);

/// The model of a question. Throws InputError, as the tools do, if it cannot decode the requested size.
Model model_of(const PlanningQuestion& question);
/// The question as planner::Planner takes it. Its profile may be of another machine than this one.
planner::Question asked_of(const PlanningQuestion& question);

/// State shared by all questions that differ only in their limit. For use by one thread. It cannot be moved,
/// because the spaces refer to the planner.
class Groundwork {
 public:
  /// Throws InputError as model_of() and planner::Planner do.
  Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found);
  Groundwork(const Groundwork&) = delete;
  Groundwork& operator=(const Groundwork&) = delete;

  const PlanningQuestion& question() const { return question_; }
  planner::Problem problem_under(int64_t limit_bytes) const { return planner_.problem_under(limit_bytes); }
  FoundPlans& found() const { return *found_; }

  /// The known result for a limit, or a new search of about `time`. A search cut short returns no proof.
  planner::ConfigurationSearch search(int64_t limit_bytes, std::chrono::milliseconds time) const;
  /// Blocks for up to a second and cannot be cancelled.
  planner::SmallestLimit smallest() const;
  planner::UntiledPeak untiled() const { return untiled_peak(model_, question_.request, planner_.costs()); }
  /// Builds the plan of a search that found one. The document has no file yet. Null if no layout within the
  /// limit was found. Throws InputError if the profile does not cover the plan's tile sizes.
  reports::DocumentPtr plan(const planner::ConfigurationSearch& search, int64_t limit_bytes,
                            const planner::GapSearch& gaps) const;

 private:
  const PlanningQuestion question_;
  const Model model_;
  const planner::Planner planner_;
  const planner::Spaces spaces_;
  const std::shared_ptr<FoundPlans> found_;
};

}  // namespace headroom::gui
