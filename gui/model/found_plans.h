#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/search/configurations.h"
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

}  // namespace headroom::gui
