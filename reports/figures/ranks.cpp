#include "reports/figures/ranks.h"

#include <algorithm>

namespace headroom::reports {
namespace {

const RecordedTrace& trace_of(const RankedTraceDocument& trace, size_t rank) {
  return *trace.ranks[rank]->as<RecordedTrace>();
}

const Plan& plan_of(const RankedPlanDocument& plan, size_t rank) {
  return plan.ranks[rank]->as<PlanDocument>()->plan;
}

bool same_rows(const RankedRun& run, size_t ranks, const Interval& first_rows) {
  return run.ranks() == ranks && run.rows(0) == first_rows;
}

bool belongs(const RankedRun& run, const RankedTraceDocument& trace) {
  const RecordedTrace& first = trace_of(trace, 0);
  if (!same_rows(run, trace.ranks.size(), first.trace.rank->latent_rows)) return false;
  if (run.planned() == nullptr) return true;
  const std::vector<Pass>& passes = plan_of(*run.planned(), 0).passes;
  return std::equal(first.pass_names.begin(), first.pass_names.end(), passes.begin(), passes.end(),
                    [](const std::string& name, const Pass& pass) { return name == pass.name; });
}

bool belongs(const RankedRun& run, const RunStats& stats) {
  if (!same_rows(run, stats.ranks.size(), stats.ranks.front().latent_rows)) return false;
  return run.planned() == nullptr ||
         plan_of(*run.planned(), 0).predicted_peak_bytes == stats.ranks.front().predicted_peak_bytes;
}

/// Into the first run that has none of the kind and that it belongs to; else alone.
template <typename T>
void pair(std::vector<RankedRun>& runs, const DocumentPtr& document, DocumentPtr RankedRun::*place) {
  for (RankedRun& run : runs) {
    if (run.*place != nullptr || !belongs(run, *document->as<T>())) continue;
    run.*place = document;
    return;
  }
  RankedRun run;
  run.*place = document;
  runs.push_back(std::move(run));
}

template <typename Build>
std::vector<std::shared_ptr<const Timeline>> timelines(const std::vector<DocumentPtr>& ranks, Build build) {
  std::vector<std::shared_ptr<const Timeline>> built;
  for (const DocumentPtr& rank : ranks) built.push_back(std::make_shared<const Timeline>(build(rank)));
  return built;
}

Cell of_bytes(int64_t bytes) {
  return double(bytes);
}

/// One rank's figures, in the order of the columns of ranks_table().
std::vector<Cell> cells_of(const RankedRun& run, size_t rank) {
  Cell limit, predicted, measured, ratio, planned_sent, sent, waited, share, planned_seconds, seconds;
  if (const RankedTraceDocument* trace = run.recorded()) {
    const Trace& of = trace_of(*trace, rank).trace;
    const Timeline& timeline = *run.measured[rank];
    if (is_limit(of.limit_bytes)) limit = of_bytes(of.limit_bytes);
    if (of.rank->predicted_peak_bytes > 0) predicted = of_bytes(of.rank->predicted_peak_bytes);
    measured = of_bytes(timeline.total_bytes(timeline.peak()));
    sent = of_bytes(of.rank->sent_bytes);
    waited = of.rank->waited_seconds;
    if (of.seconds > 0) share = of.rank->waited_seconds / of.seconds;
    seconds = of.seconds;
  }
  if (const RunStats* stats = run.ran()) {
    const RankStats& of = stats->ranks[rank];
    if (is_limit(of.limit_bytes)) limit = of_bytes(of.limit_bytes);
    predicted = of_bytes(of.predicted_peak_bytes);
    measured = of_bytes(of.peak_bytes);
    planned_sent = of_bytes(of.predicted_sent_bytes);
    sent = of_bytes(of.sent_bytes);
    seconds = of.seconds;
  }
  if (const RankedPlanDocument* plan = run.planned()) {
    const Plan& of = plan_of(*plan, rank);
    if (is_limit(of.limit_bytes)) limit = of_bytes(of.limit_bytes);
    predicted = of_bytes(of.predicted_peak_bytes);
    planned_sent = of_bytes(plan->shared.traffic[rank].total());
    planned_seconds = of.predicted_seconds;
  }
  const double *a = std::get_if<double>(&measured), *b = std::get_if<double>(&predicted);
  if (a != nullptr && b != nullptr && *b > 0) ratio = *a / *b;
  const Interval rows = run.rows(rank);
  const std::string rows_text =
      rows.length() > 0 ? std::to_string(rows.begin) + " to " + std::to_string(rows.end) : "none";
  return {std::to_string(rank), rows_text, limit,  predicted, measured,        ratio,
          planned_sent,         sent,      waited, share,     planned_seconds, seconds};
}

std::vector<Column> columns_of_ranks() {
  return {{.title = "rank", .is_text = true},
          {.title = "rows", .is_text = true, .explanation = "Of the latent, that the rank owns."},
          {.title = "limit", .unit = Unit::bytes, .group = "peak"},
          {.title = "predicted", .unit = Unit::bytes, .bars = true, .group = "peak"},
          {.title = "measured", .unit = Unit::bytes, .bars = true, .group = "peak"},
          {.title = "ratio", .unit = Unit::ratio, .explanation = "Measured over predicted.", .group = "peak"},
          {.title = "predicted", .unit = Unit::bytes, .group = "sent"},
          {.title = "measured",
           .unit = Unit::bytes,
           .explanation = "To other ranks: rows, statistics, output.",
           .group = "sent"},
          {.title = "waited",
           .unit = Unit::seconds,
           .explanation = "Time in which the rank stood still for others.",
           .group = "waiting"},
          {.title = "share", .unit = Unit::share, .explanation = "Of the rank's time.", .group = "waiting"},
          {.title = "predicted", .unit = Unit::seconds, .group = "time"},
          {.title = "measured", .unit = Unit::seconds, .group = "time"}};
}

/// Columns without anything in them go.
void drop_empty_columns(Table& table) {
  for (size_t column = table.columns.size(); column-- > 0;) {
    const bool empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
      return std::holds_alternative<std::monostate>(row.cells[column]);
    });
    if (!empty) continue;
    const auto place = static_cast<std::ptrdiff_t>(column);
    table.columns.erase(table.columns.begin() + place);
    for (Row& row : table.rows) row.cells.erase(row.cells.begin() + place);
  }
}

}  // namespace

size_t RankedRun::ranks() const {
  if (planned() != nullptr) return planned()->ranks.size();
  return ran() != nullptr ? ran()->ranks.size() : recorded()->ranks.size();
}

Interval RankedRun::rows(size_t rank) const {
  if (planned() != nullptr) return plan_of(*planned(), rank).share.latent_rows;
  if (ran() != nullptr) return ran()->ranks[rank].latent_rows;
  return trace_of(*recorded(), rank).trace.rank->latent_rows;
}

std::string RankedRun::label() const {
  std::string text;
  for (const DocumentPtr& document : {plan, stats, trace}) {
    if (document) text += (text.empty() ? "" : ", ") + document->file.string();
  }
  return text;
}

std::vector<RankedRun> ranked_runs(const std::vector<DocumentPtr>& documents) {
  std::vector<RankedRun> runs;
  for (const DocumentPtr& document : documents) {
    if (document->as<RankedPlanDocument>() == nullptr) continue;
    runs.emplace_back();
    runs.back().plan = document;
  }
  for (const DocumentPtr& document : documents) {
    const RunStats* stats = document->as<RunStats>();
    if (stats != nullptr && !stats->ranks.empty()) pair<RunStats>(runs, document, &RankedRun::stats);
  }
  for (const DocumentPtr& document : documents) {
    if (document->as<RankedTraceDocument>() != nullptr)
      pair<RankedTraceDocument>(runs, document, &RankedRun::trace);
  }
  for (RankedRun& run : runs) {
    if (run.plan) run.predicted = timelines(run.planned()->ranks, predicted_timeline);
    if (run.trace) run.measured = timelines(run.recorded()->ranks, measured_timeline);
  }
  return runs;
}

Table ranks_table(const RankedRun& run) {
  Table table{"Ranks", columns_of_ranks(), {}};
  for (size_t rank = 0; rank < run.ranks(); ++rank) table.rows.push_back({cells_of(run, rank), false});
  constexpr size_t kPredicted = 3, kMeasured = 4;
  const size_t peak = run.trace || run.stats ? kMeasured : kPredicted;
  const auto bytes_of = [&](const Row& row) {
    const double* bytes = std::get_if<double>(&row.cells[peak]);
    return bytes != nullptr ? *bytes : 0;
  };
  const auto highest =
      std::max_element(table.rows.begin(), table.rows.end(),
                       [&](const Row& a, const Row& b) { return bytes_of(a) < bytes_of(b); });
  if (highest != table.rows.end()) highest->stands_out = true;
  drop_empty_columns(table);
  return table;
}

double waited_seconds(const RankedTraceDocument& trace, size_t rank) {
  return trace_of(trace, rank).trace.rank->waited_seconds;
}

std::vector<Chart> rank_charts(const RankedRun& run, bool measured, size_t most_ranks, size_t columns) {
  const auto& timelines_shown = measured ? run.measured : run.predicted;
  std::vector<Chart> charts;
  for (size_t rank = 0; rank < std::min(most_ranks, timelines_shown.size()); ++rank) {
    const Timeline& timeline = *timelines_shown[rank];
    const Interval rows = run.rows(rank);
    const std::string title =
        "Rank " + std::to_string(rank) +
        (rows.length() > 0 ? ", rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end)
                           : ", no rows") +
        (measured ? ", measured" : ", predicted");
    charts.push_back(timeline_chart(timeline, title, 0, timeline.end_seconds(), columns));
    charts.back().compact = true;
  }
  return charts;
}

}  // namespace headroom::reports
