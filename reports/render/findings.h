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

/// Statistics and traces beside the plans that they belong to; what belongs to none stands alone. In the
/// order of the plans, then of what is left.
std::vector<ReportedRun> pair_runs(const std::vector<DocumentPtr>& documents);

/// The run that a page's large figures are of comes first: one of a plan with statistics, or else of a plan.
void bring_main_run_forward(std::vector<ReportedRun>& runs);

/// What one plan's peak comes from.
struct PeakFindings {
  DocumentPtr plan;
  PeakDecision decision;
  std::vector<planner::Remedy>
      remedies;                   ///< empty where they were not worked out, or are those of an earlier plan
  std::string remedies_remark{};  ///< by which costs, or why there are none
};

/// What all files say together, worked out once.
struct Findings {
  std::vector<DocumentPtr> documents;
  std::vector<ReportedRun> runs;
  std::vector<RankedRun> ranked;
  std::vector<PeakFindings> peaks;
  std::vector<DocumentPtr> profiles, frontiers, histories, eager;
  std::string recorded_device{};        ///< of the histories, where one was asked for
  std::optional<DecoderGuess> guess{};  ///< of what the first history is of, where none was asked for
  std::optional<DecoderNeed> need{};  ///< of the decoder that was asked for or guessed, beside the histories
  std::string need_remark{};          ///< why there is none
  std::optional<Scaling> scaling{};
  std::string scaling_remark{};
  std::optional<int64_t> other_limit_bytes{};  ///< of --limit
};
Findings work_out(const std::vector<DocumentPtr>& documents, const ReportOptions& options);

}  // namespace headroom::reports
