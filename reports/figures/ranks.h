#pragma once

#include <memory>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// One decode shared by several ranks: its plan, statistics and trace. At least one of them is present.
struct RankedRun {
  DocumentPtr plan, stats, trace;
  /// Timelines by rank. Empty without a plan, or without a trace. All measured timelines share one clock.
  std::vector<std::shared_ptr<const Timeline>> predicted{}, measured{};

  const RankedPlanDocument* planned() const { return plan ? plan->as<RankedPlanDocument>() : nullptr; }
  const RunStats* ran() const { return stats ? stats->as<RunStats>() : nullptr; }
  const RankedTraceDocument* recorded() const { return trace ? trace->as<RankedTraceDocument>() : nullptr; }
  size_t ranks() const;
  /// The rows of the latent that a rank owns.
  Interval rows(size_t rank) const;
  std::string label() const;  ///< the names of its files
};

/// Groups plans with their traces and statistics: all ranks have the same rows, limits and predicted peaks. A
/// document without a match stands alone. All timelines are filled in.
std::vector<RankedRun> ranked_runs(const std::vector<DocumentPtr>& documents);

/// A row for each rank: rows, limit, peak, bytes sent, waiting, time. Columns without data are left out. The
/// rank with the highest peak stands out.
Table ranks_table(const RankedRun& run);

/// Seconds that a rank waited for other ranks, from its trace.
double waited_seconds(const RankedTraceDocument& trace, size_t rank);

/// Small charts with a common time axis, one per rank. Draws at most `most_ranks` ranks.
std::vector<Chart> rank_charts(const RankedRun& run, bool measured, size_t most_ranks, size_t columns);

}  // namespace headroom::reports
