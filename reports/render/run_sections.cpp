#include <algorithm>

#include "reports/figures/eager.h"
#include "reports/figures/gpu_work.h"
#include "reports/figures/passes.h"
#include "reports/render/sections.h"

namespace headroom::reports {
namespace {

/// Columns of a timeline chart. The drawing is 960 wide, so each column stays narrow.
constexpr size_t kTimelineColumns = 640;

Chart whole_timeline(const Timeline& timeline, const std::string& title) {
  return timeline_chart(timeline, title, 0, timeline.end_seconds(), kTimelineColumns);
}

/// A row for each run: predictions and measurements.
Table outcomes_table(const std::vector<ReportedRun>& runs) {
  Table table{"Runs", {}, {}};
  const auto add = [&](const char* title, Unit unit, const char* group, const char* explanation) {
    table.columns.push_back({.title = title, .unit = unit, .explanation = explanation, .group = group});
  };
  table.columns.push_back({.title = "run", .is_text = true, .explanation = "The file of its statistics."});
  add("limit", Unit::bytes, "peak", "");
  add("predicted", Unit::bytes, "peak", "");
  add("measured", Unit::bytes, "peak", "High-water mark of the pool, and growth of other process memory.");
  add("ratio", Unit::ratio, "peak", "Measured over predicted.");
  add("pool", Unit::bytes, "of it", "High-water mark of live bytes in the pool.");
  add("outside", Unit::bytes, "of it",
      "Growth of other process memory: stacks, libraries, small allocations.");
  add("resident growth", Unit::bytes, "", "Growth of the process by the operating system's count.");
  add("predicted", Unit::seconds, "time", "");
  add("measured", Unit::seconds, "time", "");
  add("ratio", Unit::ratio, "time", "Measured over predicted.");
  const auto append = [](std::vector<Cell>& cells, double predicted, double measured) {
    cells.insert(cells.end(), {predicted, measured, Cell()});
    if (predicted > 0) cells.back() = measured / predicted;
  };
  for (const ReportedRun& run : runs) {
    if (run.ran() == nullptr) continue;
    const RunStats& stats = *run.ran();
    std::vector<Cell> cells{run.stats_name(), Cell()};
    if (is_limit(stats.limit_bytes)) cells.back() = double(stats.limit_bytes);
    append(cells, double(stats.predicted_peak_bytes), double(stats.peak_bytes));
    for (const int64_t bytes : {stats.pool_peak_bytes, stats.outside_bytes, stats.rss_growth_bytes})
      cells.emplace_back(double(bytes));
    append(cells, stats.predicted_seconds, stats.seconds);
    table.rows.push_back({std::move(cells), false});
  }
  return table;
}

/// Bytes that runs wrote to and read from scratch files. Runs without scratch traffic have no row.
Table scratch_table(const std::vector<ReportedRun>& runs) {
  Table table{"Scratch files", {}, {}};
  table.columns = {{.title = "run", .is_text = true},
                   {.title = "written", .unit = Unit::bytes},
                   {.title = "read", .unit = Unit::bytes},
                   {.title = "waited",
                    .unit = Unit::seconds,
                    .explanation = "Time in which the decode stood still for these transfers."}};
  for (const ReportedRun& run : runs) {
    if (run.ran() == nullptr) continue;
    const RunStats& stats = *run.ran();
    if (stats.scratch_written_bytes == 0 && stats.scratch_read_bytes == 0) continue;
    table.rows.push_back({{run.stats->file.string(), double(stats.scratch_written_bytes),
                           double(stats.scratch_read_bytes), stats.transfer_wait_seconds},
                          false});
  }
  return table;
}

/// The decodes of a queue, one after another.
Table decodes_table(const QueueStats& queue) {
  Table table{"Decodes of the queue", {}, {}};
  table.columns = {
      {.title = "request", .is_text = true},
      {.title = "repetition"},
      {.title = "peak",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "The pool, and growth of other process memory."},
      {.title = "pool", .unit = Unit::bytes, .explanation = "High-water mark of live bytes in the pool."},
      {.title = "resident",
       .unit = Unit::bytes,
       .explanation = "Resident memory of the process after the decode."},
      {.title = "outside growth", .unit = Unit::bytes, .explanation = "Since before the first decode."},
      {.title = "time", .unit = Unit::seconds, .bars = true}};
  int64_t largest = 0;
  for (const DecodeStats& decode : queue.decodes) largest = std::max(largest, decode.peak_bytes);
  for (const DecodeStats& decode : queue.decodes) {
    table.rows.push_back(
        {{decode.name, double(decode.repetition), double(decode.peak_bytes), double(decode.pool_peak_bytes),
          double(decode.resident_bytes), double(decode.outside_growth_bytes), decode.seconds},
         decode.peak_bytes == largest});
  }
  return table;
}

}  // namespace

Chart with_other_limit(Chart chart, const Findings& found) {
  if (!found.other_limit_bytes) return chart;
  chart.guides.push_back(
      {"--limit " + limit_text(*found.other_limit_bytes), double(*found.other_limit_bytes)});
  return chart;
}

bool several_runs(const Findings& found) {
  return found.runs.size() + found.shared.size() > 1;
}

std::string heading_of(const Findings& found, const ReportedRun& run) {
  return several_runs(found) ? run.label() : "";
}

Section summary_section(const Findings& found) {
  Section section{"Summary", {}};
  const bool several = several_runs(found);
  const auto add = [&](const std::string& heading, std::vector<std::string> sentences) {
    if (sentences.empty()) return;
    section.parts.emplace_back();
    section.parts.back().heading = heading;
    section.parts.back().sentences = std::move(sentences);
  };
  for (const SharedRun& run : found.shared) add(several ? run.label() : "", shared_run_sentences(run));
  for (const ReportedRun& run : found.runs) add(several ? run.label() : "", run_sentences(found, run));
  add(several ? "All together" : "", other_sentences(found));
  return section;
}

Section memory_section(const Findings& found) {
  Section section{"Memory over time", {}};
  for (const ReportedRun& run : found.runs) {
    Part part;
    part.heading = heading_of(found, run);
    part.same_axes = true;
    if (run.predicted)
      part.charts.push_back(
          with_other_limit(whole_timeline(*run.predicted, "Predicted by " + run.plan->file.string()), found));
    if (run.measured)
      part.charts.push_back(
          with_other_limit(whole_timeline(*run.measured, "Measured in " + run.trace->file.string()), found));
    if (run.measured) part.sentences = watch_sentences(run.recorded()->trace, *run.measured);
    if (!part.charts.empty()) section.parts.push_back(std::move(part));
  }
  return section;
}

Section lower_section(const Findings& found) {
  Section section{"What would lower the peak", {}};
  for (const ReportedRun& run : found.runs) {
    for (const PeakFindings& peak : found.peaks) {
      if (peak.plan != run.plan || run.plan_shown_before) continue;
      Part part;
      part.heading = heading_of(found, run);
      if (peak.remedies.empty() && peak.remedies_remark.empty()) continue;
      part.sentences.push_back(peak_sentence(peak.decision));
      if (!peak.remedies_remark.empty()) part.sentences.push_back(peak.remedies_remark);
      if (!peak.remedies.empty())
        part.tables.push_back(remedies_table(peak.remedies, run.planned()->plan.predicted_peak_bytes));
      section.parts.push_back(std::move(part));
    }
  }
  return section;
}

Section peak_section(const Findings& found) {
  Section section{"What decided the peak", {}};
  for (const ReportedRun& run : found.runs) {
    Part part;
    part.heading = heading_of(found, run);
    for (const PeakFindings& peak : found.peaks) {
      if (peak.plan != run.plan || run.plan_shown_before) continue;
      part.sentences.push_back(peak_sentence(peak.decision));
      part.tables.push_back(live_table(peak.decision.live));
      part.tables.back().title = "On the device at the predicted peak";
      if (Table engines = engines_table(peak.plan, peak.decision, found.eager); !engines.rows.empty())
        part.tables.push_back(std::move(engines));
    }
    if (run.measured && run.measured->size() > 0) {
      part.tables.push_back(live_table(*run.measured, run.measured->peak()));
      part.tables.back().title = "On the device at the measured peak";
    }
    if (!part.tables.empty()) section.parts.push_back(std::move(part));
  }
  return section;
}

Section passes_section(const Findings& found) {
  Section section{"Passes", {}};
  const Table outcomes = outcomes_table(found.runs);
  if (!outcomes.rows.empty()) {
    section.title = "Predicted against measured";
    Part part;
    part.tables.push_back(outcomes);
    if (const Table scratch = scratch_table(found.runs); !scratch.rows.empty())
      part.tables.push_back(scratch);
    section.parts.push_back(std::move(part));
  }
  for (const ReportedRun& run : found.runs) {
    if (run.plan_shown_before && run.ran() == nullptr) continue;
    Part part;
    part.heading = heading_of(found, run);
    if (run.planned() != nullptr) {
      part.tables.push_back(passes_table(*run.planned(), run.ran()));
    } else if (run.ran() != nullptr && !run.ran()->passes.empty()) {
      part.tables.push_back(passes_table(*run.ran()));
    }
    if (run.ran() != nullptr && run.ran()->queue) part.tables.push_back(decodes_table(*run.ran()->queue));
    if (!part.tables.empty()) section.parts.push_back(std::move(part));
  }
  return section;
}

Section kept_section(const Findings& found) {
  Section section{"Kept tensors and the passes that use them", {}};
  for (const ReportedRun& run : found.runs) {
    if (run.planned() == nullptr || run.plan_shown_before || run.planned()->plan.kept.empty()) continue;
    Part part;
    part.heading = heading_of(found, run);
    part.tables.push_back(kept_table(*run.planned()));
    section.parts.push_back(std::move(part));
  }
  return section;
}

Section gpu_section(const Findings& found) {
  Section section{"What the GPU did", {}};
  for (const ReportedRun& run : found.runs) {
    if (run.recorded() == nullptr) continue;
    Part part;
    part.heading = heading_of(found, run);
    part.sentences = activity_sentences(run.recorded()->trace);
    part.tables = gpu_tables(*run.recorded());
    if (!part.sentences.empty() || !part.tables.empty()) section.parts.push_back(std::move(part));
  }
  return section;
}

namespace {

/// Most ranks with a chart. The table lists all ranks.
constexpr size_t kMostRanksDrawn = 16;
constexpr size_t kRankColumns = 480;

std::string memory_text(double bytes) {
  return format(Unit::bytes, bytes);
}

std::string shared_plan_sentence(const Document& document) {
  const Plans& shared = *document.as<Plans>();
  size_t neediest = 0;
  const auto peak = [&](size_t rank) {
    return document.ranks[rank]->as<PlanDocument>()->plan.predicted_peak_bytes;
  };
  for (size_t rank = 0; rank < document.ranks.size(); ++rank) {
    if (peak(rank) > peak(neediest)) neediest = rank;
  }
  const Plan& plan = document.ranks[neediest]->as<PlanDocument>()->plan;
  std::string text = counted(static_cast<int64_t>(document.ranks.size()), "rank decodes ", "ranks share ") +
                     request_text(shared.request) + ". Rank " + std::to_string(neediest) +
                     " needs most: it is planned to take " + memory_text(double(plan.predicted_peak_bytes));
  if (is_limit(plan.limit_bytes)) text += " of its limit of " + memory_text(double(plan.limit_bytes));
  text += ". All are done in " + format(Unit::seconds, shared.predicted_seconds) + " and send " +
          memory_text(double(shared.sent_bytes()));
  if (shared.link.bytes_per_second > 0) {
    text += ", over a link of " + format(Unit::bytes_per_second, shared.link.bytes_per_second) + " and " +
            format(Unit::seconds, shared.link.seconds);
  }
  return text + ".";
}

std::string ranks_run_sentence(const SharedRun& run) {
  const std::vector<RankStats>& ranks = run.ran()->ranks;
  size_t neediest = 0;
  int64_t sent = 0, predicted_sent = 0;
  double seconds = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].peak_bytes > ranks[neediest].peak_bytes) neediest = rank;
    sent += ranks[rank].sent_bytes;
    predicted_sent += ranks[rank].predicted_sent_bytes;
    seconds = std::max(seconds, ranks[rank].seconds);
  }
  std::string text = "In " + run.stats->file.string() + " rank " + std::to_string(neediest) + " took most, " +
                     memory_text(double(ranks[neediest].peak_bytes)) + "; all were done in " +
                     format(Unit::seconds, seconds) + " and sent " + memory_text(double(sent));
  return text + (sent == predicted_sent
                     ? ", as predicted."
                     : ", where " + memory_text(double(predicted_sent)) + " were predicted.");
}

std::string wait_sentence(const SharedRun& run) {
  std::vector<const Trace*> traces;
  for (const DocumentPtr& rank : run.trace->ranks) traces.push_back(&rank->as<RecordedTrace>()->trace);
  int64_t left_out = 0;
  for (const Trace* trace : traces) left_out += trace->rank->calls_left_out;
  const auto longest = std::max_element(traces.begin(), traces.end(), [](const Trace* a, const Trace* b) {
    return a->rank->waited_seconds < b->rank->waited_seconds;
  });
  const double waited = (*longest)->rank->waited_seconds, seconds = (*longest)->seconds;
  std::string text = "In " + run.trace->file.string() + " rank " + std::to_string(longest - traces.begin()) +
                     " waited longest for others: " + format(Unit::seconds, waited);
  if (seconds > 0) text += ", " + format(Unit::share, waited / seconds) + " of its time";
  if (left_out > 0)
    text += "; " + counted(left_out, "call", "calls") + " beyond those recorded one by one are not drawn";
  return text + ".";
}

}  // namespace

std::vector<std::string> shared_run_sentences(const SharedRun& run) {
  std::vector<std::string> sentences;
  if (run.plan) sentences.push_back(shared_plan_sentence(*run.plan));
  if (run.stats) sentences.push_back(ranks_run_sentence(run));
  if (run.trace) sentences.push_back(wait_sentence(run));
  return sentences;
}

namespace {

/// The ranks' charts, one below the other.
Part charts_of_ranks(const Findings& found, const SharedRun& run, bool measured) {
  Part part;
  part.heading = measured ? "Memory over time, measured" : "Memory over time, predicted";
  if (found.shared.size() > 1) part.heading += ": " + (measured ? run.trace : run.plan)->file.string();
  part.same_axes = true;
  for (Chart& chart : rank_charts(run, measured, kMostRanksDrawn, kRankColumns))
    part.charts.push_back(with_other_limit(std::move(chart), found));
  if (run.shares.size() > kMostRanksDrawn) {
    part.sentences.push_back("The first " + std::to_string(kMostRanksDrawn) + " of " +
                             std::to_string(run.shares.size()) + " ranks are drawn.");
  }
  return part;
}

}  // namespace

Section ranks_section(const Findings& found) {
  Section section{"Ranks", {}};
  for (const SharedRun& run : found.shared) {
    Part part;
    part.heading = found.shared.size() > 1 ? run.label() : "";
    part.tables.push_back(ranks_table(run));
    section.parts.push_back(std::move(part));
    if (!run.predicted.empty()) section.parts.push_back(charts_of_ranks(found, run, false));
    if (!run.measured.empty()) section.parts.push_back(charts_of_ranks(found, run, true));
  }
  return section;
}

}  // namespace headroom::reports
