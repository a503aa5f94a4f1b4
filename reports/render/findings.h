#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/decoder_need.h"
#include "reports/figures/peak.h"
#include "reports/figures/ranks.h"
#include "reports/figures/scaling.h"
#include "reports/figures/timeline.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// A plan, the statistics of a run of it, and its trace. At least one of them is present.
struct ReportedRun {
  DocumentPtr plan, stats, trace;
  bool plan_shown_before = false;  ///< the plan was already shown with an earlier run
  std::shared_ptr<const Timeline> predicted{}, measured{};

  const PlanDocument* planned() const { return plan ? plan->as<PlanDocument>() : nullptr; }
  const RunStats* ran() const { return stats ? stats->as<RunStats>() : nullptr; }
  const RecordedTrace* recorded() const { return trace ? trace->as<RecordedTrace>() : nullptr; }
  int64_t limit_bytes() const;
  /// Name of the statistics file. For several ranks, it also names the rank whose passes they describe.
  std::string stats_name() const;
  /// Names of the run's files.
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
  std::vector<planner::Remedy> remedies;  ///< empty if not computed, or if an earlier plan has the same ones
  std::string remedies_remark{};          ///< source of the costs, or why there are no remedies
};

/// Results from all files together, computed once.
struct Findings {
  std::vector<DocumentPtr> documents;
  std::vector<ReportedRun> runs;
  std::vector<SharedRun> shared;
  std::vector<PeakFindings> peaks;
  std::vector<DocumentPtr> profiles, frontiers, histories, eager;
  std::string recorded_device{};      ///< device of the histories; empty if not given
  std::optional<DecoderNeed> need{};  ///< need of the decoder in ReportOptions
  std::string need_remark{};          ///< why there is none
  std::optional<Scaling> scaling{};
  std::string scaling_remark{};
  std::optional<int64_t> other_limit_bytes{};  ///< of --limit
};
Findings work_out(const std::vector<DocumentPtr>& documents, const ReportOptions& options);

}  // namespace headroom::reports
