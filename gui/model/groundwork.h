#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gui/model/workspace.h"
#include "planner/answer/planner.h"
#include "planner/explain/peak.h"
#include "planner/search/configurations.h"
#include "planner/search/finish_plan.h"
#include "planner/search/frontier.h"

namespace headroom::gui {

/// Cache of the fastest plans for one question under any limit, and of the smallest limit. A proven plan is
/// the fastest for every limit from its own peak to the limit of its search. Thread-safe.
class FoundPlans {
 public:
  /// Ignores a search that found no plan.
  void add(int64_t limit_bytes, const planner::ConfigurationSearch& search);
  void set_smallest(const planner::SmallestLimit& smallest);

  /// The proven fastest plan under this limit. The search in the result is empty if the limit is below the
  /// smallest one. Unset: no proof is known for this limit.
  std::optional<planner::ConfigurationSearch> under(int64_t limit_bytes) const;
  /// The fastest known plan that fits this limit. A faster one may exist.
  std::optional<planner::ConfigurationSearch> fitting(int64_t limit_bytes) const;
  std::optional<planner::SmallestLimit> smallest() const;

  /// Largest peak first. Each plan has a smaller peak and takes longer than the one before.
  std::vector<planner::FrontierPoint> points() const;
  /// The next limit to search for the frontier. The first one is so large that every plan fits. Later ones
  /// lie in the widest gap between neighbouring plans. Unset: no visible gap is left.
  std::optional<int64_t> next_limit() const;

 private:
  struct Entry {
    int64_t limit_bytes = 0;         ///< largest limit whose search found this plan
    int64_t proven_limit_bytes = 0;  ///< largest limit under which the plan is proven fastest
    planner::ConfigurationSearch search;
    double seconds() const { return search.best->seconds; }
  };
  const Entry* entry_below(int64_t limit_bytes) const;
  mutable std::mutex mutex_;
  std::map<int64_t, Entry> by_peak_;
  std::optional<planner::SmallestLimit> smallest_;
};

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
  /// The points of the found plans, in the seconds that plan() gives them.
  std::vector<planner::FrontierPoint> points() const;

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
