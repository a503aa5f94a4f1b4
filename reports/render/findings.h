#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/decoder_guess.h"
#include "reports/figures/decoder_need.h"
#include "reports/figures/peak.h"
#include "reports/figures/ranks.h"
#include "reports/figures/scaling.h"
#include "reports/figures/timeline.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// A plan, what a run of it measured and its trace, as far as the files have them; at least one.
struct ReportedRun {
  DocumentPtr plan, stats, trace;
  bool plan_shown_before = false;  ///< an earlier run is of the same plan
  std::shared_ptr<const Timeline> predicted{}, measured{};

  const PlanDocument* planned() const { return plan ? plan->as<PlanDocument>() : nullptr; }
  const RunStats* ran() const { return stats ? stats->as<RunStats>() : nullptr; }
  const RecordedTrace* recorded() const { return trace ? trace->as<RecordedTrace>() : nullptr; }
  int64_t limit_bytes() const;
  /// The name of its statistics' file; of a run of several ranks with the one that their passes are of.
  std::string stats_name() const;
  /// The names of its files.
  std::string label() const;
};

/// Groups statistics and traces with their plans. A document without a match stands alone. Plans come first,
/// in their order, then the other documents.
std::vector<ReportedRun> pair_runs(const std::vector<DocumentPtr>& documents);

/// Moves the run for the page's headline to the front: the first plan with statistics, or else the first
/// plan.
void bring_main_run_forward(std::vector<ReportedRun>& runs);

/// Cause of one plan's peak, and remedies.
struct PeakFindings {
  DocumentPtr plan;
  PeakDecision decision;
  std::vector<planner::Remedy>
      remedies;                   ///< empty where they were not worked out, or are those of an earlier plan
  std::string remedies_remark{};  ///< by which costs, or why there are none
};

/// Results from all files together, computed once.
struct Findings {
  std::vector<DocumentPtr> documents;
  std::vector<ReportedRun> runs;
  std::vector<RankedRun> ranked;
  std::vector<PeakFindings> peaks;
  std::vector<DocumentPtr> profiles, frontiers, histories, eager;
  std::string recorded_device{};        ///< of the histories; empty if not given
  std::optional<DecoderGuess> guess{};  ///< from the first history, if no decoder was given
  std::optional<DecoderNeed> need{};    ///< of the given or guessed decoder, beside the histories
  std::string need_remark{};            ///< why there is none
  std::optional<Scaling> scaling{};
  std::string scaling_remark{};
  std::optional<int64_t> other_limit_bytes{};  ///< of --limit
};
Findings work_out(const std::vector<DocumentPtr>& documents, const ReportOptions& options);

}  // namespace headroom::reports
