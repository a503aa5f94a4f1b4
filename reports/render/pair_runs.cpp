#include <algorithm>

#include "planner/explain/analyze.h"
#include "reports/render/findings.h"

namespace headroom::reports {
namespace {

/// True if a trace can belong to these passes. A trace records only their names and the limit.
template <typename Passes>
bool same_passes(const RecordedTrace& trace, int64_t limit_bytes, const Passes& passes) {
  return trace.trace.limit_bytes == limit_bytes &&
         std::equal(trace.pass_names.begin(), trace.pass_names.end(), passes.begin(), passes.end(),
                    [](const std::string& name, const auto& pass) { return name == pass.name; });
}

bool belongs(const ReportedRun& run, const RunStats& stats) {
  return run.planned() != nullptr && stats.ranks.empty() && planner::belongs_to(run.planned()->plan, stats);
}

bool belongs(const ReportedRun& run, const RecordedTrace& trace) {
  if (run.planned() != nullptr) return same_passes(trace, run.limit_bytes(), run.planned()->plan.passes);
  return run.ran() != nullptr && run.ran()->ranks.empty() &&
         same_passes(trace, run.limit_bytes(), run.ran()->passes);
}

/// Puts a document into the first run that it belongs to and that lacks its kind. If all such runs have one,
/// adds a run with the same plan. A document that belongs to no run gets its own.
template <typename T>
void pair(std::vector<ReportedRun>& runs, const DocumentPtr& document, DocumentPtr ReportedRun::*place) {
  const T& contents = *document->as<T>();
  const ReportedRun* same_plan = nullptr;
  for (ReportedRun& run : runs) {
    if (!belongs(run, contents)) continue;
    if (run.*place == nullptr) {
      run.*place = document;
      return;
    }
    if (run.plan) same_plan = &run;
  }
  ReportedRun run;
  if (same_plan != nullptr) {
    run.plan = same_plan->plan;
    run.plan_shown_before = true;
  }
  run.*place = document;
  runs.push_back(std::move(run));
}

}  // namespace

int64_t ReportedRun::limit_bytes() const {
  if (planned() != nullptr) return planned()->plan.limit_bytes;
  return ran() != nullptr ? ran()->limit_bytes : recorded()->trace.limit_bytes;
}

std::string ReportedRun::stats_name() const {
  return stats->file.string() + (ran()->ranks.empty() ? "" : " (rank 0)");
}

std::string ReportedRun::label() const {
  std::vector<std::string> names;
  if (plan) names.push_back(plan->file.string());
  if (stats) names.push_back(stats_name());
  if (trace) names.push_back(trace->file.string());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<ReportedRun> pair_runs(const std::vector<DocumentPtr>& documents) {
  std::vector<ReportedRun> runs;
  for (const DocumentPtr& document : documents) {
    if (document->as<PlanDocument>() == nullptr) continue;
    ReportedRun run;
    run.plan = document;
    runs.push_back(std::move(run));
  }
  for (const DocumentPtr& document : documents) {
    if (document->as<RunStats>() != nullptr) pair<RunStats>(runs, document, &ReportedRun::stats);
  }
  for (const DocumentPtr& document : documents) {
    if (document->as<RecordedTrace>() != nullptr) pair<RecordedTrace>(runs, document, &ReportedRun::trace);
  }
  return runs;
}

void bring_main_run_forward(std::vector<ReportedRun>& runs) {
  const auto find = [&](auto is_main) { return std::find_if(runs.begin(), runs.end(), is_main); };
  auto main = find([](const ReportedRun& run) { return run.planned() != nullptr && run.ran() != nullptr; });
  if (main == runs.end()) main = find([](const ReportedRun& run) { return run.planned() != nullptr; });
  if (main == runs.end()) return;
  std::rotate(runs.begin(), main, main + 1);
}

}  // namespace headroom::reports
