#pragma once

#include <memory>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// A rank's share of a decode. Plans, statistics and traces of one decode have equal shares.
struct Share {
  Interval rows;  ///< of the latent
  int64_t limit_bytes = 0, peak_bytes = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

/// One decode shared by several ranks: its plan, statistics and trace. At least one of them is present.
struct SharedRun {
  std::vector<Share> shares;  ///< by rank
  DocumentPtr plan{}, stats{}, trace{};
  /// Timelines by rank. Empty without a plan, or without a trace. All measured timelines share one clock.
  std::vector<std::shared_ptr<const Timeline>> predicted{}, measured{};

  const Plans* planned() const { return plan ? plan->as<Plans>() : nullptr; }
  const RunStats* ran() const { return stats ? stats->as<RunStats>() : nullptr; }
  std::string label() const;  ///< the names of its files
};

/// Groups plans with their traces and statistics by the ranks' shares. A document without a match stands
/// alone. All timelines are filled in.
std::vector<SharedRun> shared_runs(const std::vector<DocumentPtr>& documents);

/// A row for each rank: rows, limit, peak, bytes sent, waiting, time. Columns without data are left out. The
/// rank with the highest peak stands out.
Table ranks_table(const SharedRun& run);

/// Small charts with a common time axis, one per rank. Draws at most `most_ranks` ranks.
std::vector<Chart> rank_charts(const SharedRun& run, bool measured, size_t most_ranks, size_t columns);

}  // namespace headroom::reports
