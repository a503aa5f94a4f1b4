#include <algorithm>

#include "reports/render/sections.h"
#include "reports/render/sentences.h"

namespace headroom::reports {
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
