#include <algorithm>

#include "reports/render/sections.h"
#include "reports/render/sentences.h"

namespace headroom::reports {
namespace {

/// More would make a page that nobody scrolls through; the table has all.
constexpr size_t kMostRanksDrawn = 16;
constexpr size_t kRankColumns = 480;

std::string memory_text(double bytes) {
  return format(Unit::bytes, bytes);
}

std::string shared_plan_sentence(const RankedPlanDocument& document) {
  const RankedPlan& shared = document.shared;
  size_t neediest = 0;
  const auto peak = [&](size_t rank) {
    return document.ranks[rank]->as<PlanDocument>()->plan.predicted_peak_bytes;
  };
  int64_t sent = 0;
  for (size_t rank = 0; rank < document.ranks.size(); ++rank) {
    if (peak(rank) > peak(neediest)) neediest = rank;
    sent += shared.traffic[rank].total();
  }
  const Plan& plan = document.ranks[neediest]->as<PlanDocument>()->plan;
  std::string text = counted(static_cast<int64_t>(document.ranks.size()), "rank decodes ", "ranks share ") +
                     request_text(shared.request) + ". Rank " + std::to_string(neediest) +
                     " needs most: it is planned to take " + memory_text(double(plan.predicted_peak_bytes));
  if (is_limit(plan.limit_bytes)) text += " of its limit of " + memory_text(double(plan.limit_bytes));
  text += ". All are done in " + format(Unit::seconds, shared.predicted_seconds) + " and send " +
          memory_text(double(sent));
  if (shared.link.bytes_per_second > 0) {
    text += ", over a link of " + format(Unit::bytes_per_second, shared.link.bytes_per_second) + " and " +
            format(Unit::seconds, shared.link.seconds);
  }
  return text + ".";
}

std::string wait_sentence(const RankedRun& run) {
  const RankedTraceDocument& trace = *run.recorded();
  size_t longest = 0;
  int64_t left_out = 0;
  for (size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    if (waited_seconds(trace, rank) > waited_seconds(trace, longest)) longest = rank;
    left_out += trace.ranks[rank]->as<RecordedTrace>()->trace.rank->calls_left_out;
  }
  const double seconds = trace.ranks[longest]->as<RecordedTrace>()->trace.seconds;
  std::string text = "In " + run.trace->file.string() + " rank " + std::to_string(longest) +
                     " waited longest for others: " + format(Unit::seconds, waited_seconds(trace, longest));
  if (seconds > 0)
    text += ", " + format(Unit::share, waited_seconds(trace, longest) / seconds) + " of its time";
  if (left_out > 0)
    text += "; " + counted(left_out, "call", "calls") + " beyond those recorded one by one are not drawn";
  return text + ".";
}

}  // namespace

std::vector<std::string> rank_sentences(const RankedRun& run) {
  std::vector<std::string> sentences;
  if (run.plan) sentences.push_back(shared_plan_sentence(*run.planned()));
  if (run.trace) sentences.push_back(wait_sentence(run));
  return sentences;
}

Section ranks_section(const Findings& found) {
  Section section{"Ranks", {}};
  for (const RankedRun& run : found.ranked) {
    Part part;
    part.heading = found.ranked.size() > 1 ? run.label() : "";
    part.tables.push_back(ranks_table(run));
    section.parts.push_back(std::move(part));
    for (const bool measured : {false, true}) {
      if ((measured ? run.measured : run.predicted).empty()) continue;
      Part charts;
      charts.heading = measured ? "Memory over time, measured" : "Memory over time, predicted";
      charts.same_axes = true;
      for (Chart& chart : rank_charts(run, measured, kMostRanksDrawn, kRankColumns))
        charts.drawings.push_back(std::move(chart));
      if (run.ranks() > kMostRanksDrawn)
        charts.sentences.push_back("The first " + std::to_string(kMostRanksDrawn) + " of " +
                                   std::to_string(run.ranks()) + " ranks are drawn.");
      section.parts.push_back(std::move(charts));
    }
  }
  return section;
}

}  // namespace headroom::reports
