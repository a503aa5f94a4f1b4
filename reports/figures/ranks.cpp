#include "reports/figures/ranks.h"

#include <algorithm>

namespace headroom::reports {
namespace {

/// The shares of the ranks that a document describes. Empty if it is not of several ranks.
std::vector<Share> shares_of(const Document& document) {
  std::vector<Share> shares;
  if (const RunStats* stats = document.as<RunStats>()) {
    for (const RankStats& rank : stats->ranks)
      shares.push_back({rank.latent_rows, rank.limit_bytes, rank.predicted_peak_bytes});
  }
  for (const DocumentPtr& rank : document.ranks) {
    if (const PlanDocument* planned = rank->as<PlanDocument>()) {
      const Plan& plan = planned->plan;
      shares.push_back({plan.share.latent_rows, plan.limit_bytes, plan.predicted_peak_bytes});
    } else {
      const Trace& trace = rank->as<RecordedTrace>()->trace;
      shares.push_back({trace.rank->latent_rows, trace.limit_bytes, trace.rank->predicted_peak_bytes});
    }
  }
  return shares;
}

DocumentPtr SharedRun::*place_of(const Document& document) {
  if (document.as<Plans>() != nullptr) return &SharedRun::plan;
  return document.as<RunStats>() != nullptr ? &SharedRun::stats : &SharedRun::trace;
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
std::vector<Cell> cells_of(const SharedRun& run, size_t rank) {
  Cell limit, predicted, measured, ratio, planned_sent, sent, waited, share, planned_seconds, seconds;
  if (run.trace) {
    const Trace& of = run.trace->ranks[rank]->as<RecordedTrace>()->trace;
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
  if (const Plans* shared = run.planned()) {
    const Plan& of = run.plan->ranks[rank]->as<PlanDocument>()->plan;
    if (is_limit(of.limit_bytes)) limit = of_bytes(of.limit_bytes);
    predicted = of_bytes(of.predicted_peak_bytes);
    planned_sent = of_bytes(shared->sent[rank].total());
    planned_seconds = of.predicted_seconds;
  }
  const double *a = std::get_if<double>(&measured), *b = std::get_if<double>(&predicted);
  if (a != nullptr && b != nullptr && *b > 0) ratio = *a / *b;
  const Interval rows = run.shares[rank].rows;
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

std::string SharedRun::label() const {
  std::string text;
  for (const DocumentPtr& document : {plan, stats, trace}) {
    if (document) text += (text.empty() ? "" : ", ") + document->file.string();
  }
  return text;
}

std::vector<SharedRun> shared_runs(const std::vector<DocumentPtr>& documents) {
  std::vector<SharedRun> runs;
  for (const auto place : {&SharedRun::plan, &SharedRun::stats, &SharedRun::trace}) {
    for (const DocumentPtr& document : documents) {
      std::vector<Share> shares = shares_of(*document);
      if (shares.empty() || place_of(*document) != place) continue;
      auto run = std::find_if(runs.begin(), runs.end(), [&](const SharedRun& other) {
        return other.*place == nullptr && other.shares == shares;
      });
      if (run == runs.end()) run = runs.insert(run, SharedRun{std::move(shares)});
      (*run).*place = document;
    }
  }
  for (SharedRun& run : runs) {
    if (run.plan) run.predicted = timelines(run.plan->ranks, predicted_timeline);
    if (run.trace) run.measured = timelines(run.trace->ranks, measured_timeline);
  }
  return runs;
}

Table ranks_table(const SharedRun& run) {
  Table table{"Ranks", columns_of_ranks(), {}};
  for (size_t rank = 0; rank < run.shares.size(); ++rank) table.rows.push_back({cells_of(run, rank), false});
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

std::vector<Chart> rank_charts(const SharedRun& run, bool measured, size_t most_ranks, size_t columns) {
  const auto& timelines_shown = measured ? run.measured : run.predicted;
  std::vector<Chart> charts;
  for (size_t rank = 0; rank < std::min(most_ranks, timelines_shown.size()); ++rank) {
    const Timeline& timeline = *timelines_shown[rank];
    const Interval rows = run.shares[rank].rows;
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
