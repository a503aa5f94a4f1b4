#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/search/configurations.h"
#include "planner/search/frontier.h"

namespace headroom::gui {

/// The fastest plans that were found of one question, whatever its limit, and the smallest limit. Each plan
/// is the fastest under every limit from its own peak to the one that it was found under. For any number of
/// threads.
class FoundPlans {
 public:
  /// Nothing is added where the search found nothing.
  void add(int64_t limit_bytes, const planner::ConfigurationSearch& search);
  void set_smallest(const planner::SmallestLimit& smallest);

  /// The fastest under this limit, proven. Without a plan where the limit is below the smallest; none where
  /// nothing is known.
  std::optional<planner::ConfigurationSearch> under(int64_t limit_bytes) const;
  /// The fastest plan so far that fits this limit, which may not be the fastest there is.
  std::optional<planner::ConfigurationSearch> fitting(int64_t limit_bytes) const;
  std::optional<planner::SmallestLimit> smallest() const;

  /// Largest peak first; each is slower and smaller than the one before.
  std::vector<planner::FrontierPoint> points() const;
  /// The limit under which the next plan of the frontier is to be searched: without any, then where two next
  /// to one another are furthest apart; none where no gap is left that could be seen.
  std::optional<int64_t> next_limit() const;

 private:
  struct Entry {
    int64_t limit_bytes = 0;         ///< the largest that it was found under
    int64_t proven_limit_bytes = 0;  ///< the same where nothing faster exists
    planner::ConfigurationSearch search;
    double seconds() const { return search.best->seconds; }
  };
  const Entry* entry_below(int64_t limit_bytes) const;
  mutable std::mutex mutex_;
  std::map<int64_t, Entry> by_peak_;
  std::optional<planner::SmallestLimit> smallest_;
};

}  // namespace headroom::gui
