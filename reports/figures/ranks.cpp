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

/// Identity of a rank, used to match traces and statistics to plans.
struct PlannedRank {
  Interval rows;
  int64_t limit_bytes = 0, peak_bytes = 0;
  friend bool operator==(const PlannedRank&, const PlannedRank&) = default;
};

std::vector<PlannedRank> planned_ranks(const RankedPlanDocument& document) {
  std::vector<PlannedRank> ranks;
  for (size_t rank = 0; rank < document.ranks.size(); ++rank) {
    const Plan& plan = plan_of(document, rank);
    ranks.push_back({plan.share.latent_rows, plan.limit_bytes, plan.predicted_peak_bytes});
  }
  return ranks;
}

std::vector<PlannedRank> planned_ranks(const RunStats& stats) {
  std::vector<PlannedRank> ranks;
  for (const RankStats& rank : stats.ranks)
    ranks.push_back({rank.latent_rows, rank.limit_bytes, rank.predicted_peak_bytes});
  return ranks;
}

std::vector<PlannedRank> planned_ranks(const RankedTraceDocument& document) {
  std::vector<PlannedRank> ranks;
  for (size_t rank = 0; rank < document.ranks.size(); ++rank) {
    const Trace& trace = trace_of(document, rank).trace;
    ranks.push_back({trace.rank->latent_rows, trace.limit_bytes, trace.rank->predicted_peak_bytes});
  }
  return ranks;
}

std::vector<PlannedRank> planned_ranks(const RankedRun& run) {
  if (run.planned() != nullptr) return planned_ranks(*run.planned());
  return run.ran() != nullptr ? planned_ranks(*run.ran()) : planned_ranks(*run.recorded());
}

bool belongs(const RankedRun& run, const RankedTraceDocument& trace) {
  return planned_ranks(run) == planned_ranks(trace);
}

bool belongs(const RankedRun& run, const RunStats& stats) {
  return planned_ranks(run) == planned_ranks(stats);
}

/// Adds a document to the first run that it belongs to and that lacks its kind. Otherwise it gets its own
/// run.
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
  built.reserve(ranks.size());
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
    planned_sent = of_bytes(plan->shared.sent[rank].total());
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
  return {
      {.title = "rank", .is_text = true},
      {.title = "rows", .is_text = true, .explanation = "Latent rows that the rank owns."},
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
       .explanation = "Time that the rank waited for other ranks.",
       .group = "waiting"},
      {.title = "share", .unit = Unit::share, .explanation = "Share of the rank's time.", .group = "waiting"},
      {.title = "predicted",
       .unit = Unit::seconds,
       .explanation = "Time of the rank's own passes, without waiting for others.",
       .group = "time"},
      {.title = "measured", .unit = Unit::seconds, .group = "time"}};
}

/// Removes columns without data.
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
  return planned_ranks(*this).size();
}

Interval RankedRun::rows(size_t rank) const {
  return planned_ranks(*this)[rank].rows;
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
  // One legend stands for all, so what one has all have.
  const auto waited =
      std::find_if(charts.begin(), charts.end(), [](const Chart& chart) { return chart.strip.has_value(); });
  if (waited == charts.end()) return charts;
  for (Chart& chart : charts) {
    if (!chart.strip) chart.strip = Strip{waited->strip->name, waited->strip->colour_role, {}, {}};
  }
  return charts;
}

}  // namespace headroom::reports
