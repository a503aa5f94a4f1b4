#include "reports/render/sections.h"

#include <algorithm>
#include <cmath>

#include "decoder/base/short_name.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"

namespace headroom::reports {
namespace {

constexpr double kTheSame = 0.0005;  // smaller relative differences count as none

std::string bytes_text(int64_t bytes) {
  return format(Unit::bytes, double(bytes));
}

/// "a, b and c".
std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

/// Difference of a measured figure from its prediction: "1.9 MiB (0.3 %) less than predicted", "as
/// predicted".
std::string difference_text(Unit unit, double measured, double predicted) {
  if (!(predicted > 0)) return "without a prediction";
  const double share = (measured - predicted) / predicted;
  if (std::abs(share) < kTheSame) return "as predicted";
  return format(unit, std::abs(measured - predicted)) + " (" + format(Unit::share, std::abs(share)) + ") " +
         (share > 0 ? "more" : "less") + " than predicted";
}

std::string plan_sentence(const PlanDocument& document) {
  const Plan& plan = document.plan;
  std::string text = request_text(plan.request) + " is planned to take " +
                     bytes_text(plan.predicted_peak_bytes) + " and " + planner::seconds_text(plan);
  if (is_limit(plan.limit_bytes)) {
    text += plan.predicted_peak_bytes <= plan.limit_bytes
                ? ": it fits the limit of " + bytes_text(plan.limit_bytes) + " with " +
                      bytes_text(plan.limit_bytes - plan.predicted_peak_bytes) + " to spare"
                : ": it exceeds the limit of " + bytes_text(plan.limit_bytes);
  } else {
    text += ", without a limit";
  }
  text += plan.exact ? ". The plan is exact and " : ". The plan is approximate and ";
  return text + planner::gap_text(plan) +
         (plan.assumed ? "; its times are assumptions." : "; its times come from a profile.");
}

std::string run_sentence(const RunStats& stats, const std::string& file) {
  std::string text =
      "The run in " + file + " took " + bytes_text(stats.peak_bytes) + ", " +
      difference_text(Unit::bytes, double(stats.peak_bytes), double(stats.predicted_peak_bytes)) + ", and " +
      format(Unit::seconds, stats.seconds) + ", " +
      difference_text(Unit::seconds, stats.seconds, stats.predicted_seconds);
  if (is_limit(stats.limit_bytes)) {
    const int64_t spare = stats.limit_bytes - stats.peak_bytes;
    text += spare >= 0 ? "; it stayed " + bytes_text(spare) + " below its limit of "
                       : "; it went " + bytes_text(-spare) + " above its limit of ";
    text += bytes_text(stats.limit_bytes);
  }
  return text + ".";
}

std::string worst_pass_sentence(const RunStats& stats) {
  if (stats.passes.empty()) return "";
  const size_t number = planner::worst_passes(stats.passes).front();
  const PassStats& worst = stats.passes[number];
  if (worst.predicted_seconds <= 0) return "";
  return "The largest error of a predicted time is in pass " + std::to_string(number) + " (" +
         short_name(worst.name) + "): " + format(Unit::seconds, worst.seconds) + ", " +
         difference_text(Unit::seconds, worst.seconds, worst.predicted_seconds) + ".";
}

std::string verification_sentence(const Verification& verification) {
  std::string text = "The picture was compared with " + verification.compared_with + ": ";
  if (verification.largest_error == 0) return text + "no difference.";
  text += printed("the largest error is %.1e of the largest value", verification.largest_error_relative);
  return text +
         (std::isfinite(verification.psnr_db) ? printed(", PSNR %.0f dB.", verification.psnr_db) : ".");
}

std::string queue_sentence(const RunStats& stats) {
  return std::to_string(stats.queue->decodes.size()) + " decodes ran in one process; the pool grew by " +
         bytes_text(stats.queue->pool_growth_bytes) + " after the first one, and other process memory by " +
         bytes_text(stats.queue->outside_growth_after_warmup_bytes) + " once every size had been seen.";
}

std::string remedies_sentence(const PeakFindings& peak) {
  if (peak.remedies.empty() || !peak.remedies.front().option.empty()) return "";
  // The first remedy is the unchanged request. The others follow, the lowest limit first.
  std::string text = "The smallest limit that this request fits as it is: " +
                     bytes_text(peak.remedies.front().smallest_limit_bytes.value()) + ", in " +
                     format(Unit::seconds, peak.remedies.front().seconds.value());
  if (peak.remedies.size() > 1) {
    const planner::Remedy& lowest = peak.remedies[1];
    text += "; with " + lowest.option + " (" + lowest.meaning + ") " +
            bytes_text(lowest.smallest_limit_bytes.value()) + ", in " +
            format(Unit::seconds, lowest.seconds.value());
  }
  return text + ".";
}

std::string scaling_sentence(const Scaling& scaling) {
  if (!is_limit(scaling.limit_bytes)) return "";
  std::vector<std::string> parts;
  const auto add = [&](const std::vector<ScalingPoint>& series, const std::string& how) {
    if (series.empty()) return;
    const double pixels = largest_pixels_within(series, scaling.limit_bytes);
    const bool none = pixels < 0, all = pixels >= double(series.back().pixels());
    parts.push_back((none  ? "below "
                     : all ? "at least "
                           : "about ") +
                    format(Unit::pixels, none ? double(series.front().pixels()) : pixels) + " " + how);
  };
  add(scaling.planned, "as planned");
  add(scaling.untiled.empty() ? scaling.measured_untiled : scaling.untiled, "untiled");
  if (parts.empty()) return "";
  const std::string of = scaling.decoder ? " of " + scaling.decoder->request.model + " in " +
                                               arithmetic_of(scaling.decoder->request)
                                         : "";
  return "Within " + bytes_text(scaling.limit_bytes) + " the largest picture" + of + " has " + listed(parts) +
         ".";
}

}  // namespace

std::string profile_sentence(const profiler::Profile& profile) {
  if (profile.sizes.empty()) return "";
  const profiler::ProfiledSize& size =
      *std::max_element(profile.sizes.begin(), profile.sizes.end(),
                        [](const profiler::ProfiledSize& a, const profiler::ProfiledSize& b) {
                          return a.peak_bytes < b.peak_bytes;
                        });
  return "Untiled, " + profile.model + " at " + std::to_string(size.width_pixels) + "×" +
         std::to_string(size.height_pixels) + " in " + name_of(profile.dtype) + " took " +
         bytes_text(size.peak_bytes) + " and " + format(Unit::seconds, size.seconds) + "; " +
         short_name(size.peak_layer) + " ran at the peak.";
}

std::string frontier_sentence(const FrontierDocument& frontier) {
  if (frontier.points.empty()) return "";
  const planner::FrontierPoint &fastest = frontier.points.front(), &smallest = frontier.points.back();
  return "Plans of " + request_text(frontier.request) + " reach from " + bytes_text(smallest.peak_bytes) +
         " in " + format(Unit::seconds, smallest.seconds) + " to " + bytes_text(fastest.peak_bytes) + " in " +
         format(Unit::seconds, fastest.seconds) + ".";
}

std::string request_text(const Request& request) {
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "×" +
                     std::to_string(request.height_pixels) + " " + arithmetic_of(request);
  if (request.frames > 1) text += ", " + std::to_string(request.frames) + " frames";
  if (request.batch > 1) text += ", batch " + std::to_string(request.batch);
  return text;
}

std::string limit_text(int64_t limit_bytes) {
  return is_limit(limit_bytes) ? bytes_text(limit_bytes) : "no limit";
}

std::string peak_sentence(const PeakDecision& decision) {
  std::vector<std::string> parts;
  constexpr size_t kMostNamed = 3;
  for (const planner::LiveEntry& entry : decision.live) {
    if (parts.size() < kMostNamed && planner::is_of_tensor(entry))
      parts.push_back(short_name(entry.name) + " (" + bytes_text(entry.bytes) + ")");
  }
  std::string text = "Pass " + std::to_string(decision.pass) + " (" + short_name(decision.pass_name) +
                     ") decides the peak: while it runs " + decision.step + ", " +
                     bytes_text(decision.bytes) + " are on the device";
  return text + (parts.empty() ? "." : ", most of it " + listed(parts) + ".");
}

std::vector<std::string> run_sentences(const Findings& found, const ReportedRun& run) {
  std::vector<std::string> sentences;
  if (run.planned() != nullptr && !run.plan_shown_before) {
    sentences.push_back(plan_sentence(*run.planned()));
    for (const PeakFindings& peak : found.peaks) {
      if (peak.plan != run.plan) continue;
      sentences.push_back(peak_sentence(peak.decision));
      sentences.push_back(remedies_sentence(peak));
    }
  }
  if (const RunStats* stats = run.ran()) {
    sentences.push_back(run_sentence(*stats, run.stats_name()));
    sentences.push_back(worst_pass_sentence(*stats));
    if (stats->queue) sentences.push_back(queue_sentence(*stats));
    if (stats->verification) sentences.push_back(verification_sentence(*stats->verification));
  }
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> other_sentences(const Findings& found) {
  std::vector<std::string> sentences;
  if (found.scaling) sentences.push_back(scaling_sentence(*found.scaling));
  for (const DocumentPtr& profile : found.profiles)
    sentences.push_back(profile_sentence(*profile->as<profiler::Profile>()));
  for (const DocumentPtr& frontier : found.frontiers)
    sentences.push_back(frontier_sentence(*frontier->as<FrontierDocument>()));
  std::erase(sentences, "");
  return sentences;
}

}  // namespace headroom::reports
