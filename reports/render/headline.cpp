#include "reports/render/headline.h"

#include <algorithm>

#include "reports/render/sentences.h"

namespace headroom::reports {
namespace {

/// What the untiled decode of a plan's request needs, and who says so.
struct Untiled {
  int64_t bytes = 0;
  std::optional<double> seconds{};  ///< where it was measured on the device of the run
  bool measured = false;
  std::string basis;
};

const ReportedRun* main_run(const Findings& found) {
  const ReportedRun* first = nullptr;
  for (const ReportedRun& run : found.runs) {
    if (run.planned() == nullptr) continue;
    if (run.ran() != nullptr) return &run;
    if (first == nullptr) first = &run;
  }
  return first;
}

/// As a profile among the files measured it at this very size.
std::optional<Untiled> measured_untiled(const Findings& found, const ReportedRun& run) {
  const PlanDocument& planned = *run.planned();
  const Request& request = planned.plan.request;
  for (const DocumentPtr& file : found.profiles) {
    Scaling sizes;
    sizes.decoder = {planned.model, request};
    add_measured(sizes, {file});
    for (const ScalingPoint& point : sizes.measured_untiled) {
      if (point.width_pixels != request.width_pixels || point.height_pixels != request.height_pixels)
        continue;
      Untiled untiled{point.bytes, {}, true, "measured in " + file->file.string()};
      const profiler::Profile& profile = *file->as<profiler::Profile>();
      const bool same_machine = run.ran() != nullptr && run.ran()->device == profile.device;
      if (same_machine && point.seconds > 0) untiled.seconds = point.seconds;
      return untiled;
    }
  }
  return std::nullopt;
}

Untiled untiled_of(const Findings& found, const ReportedRun& run) {
  if (const std::optional<Untiled> measured = measured_untiled(found, run)) return *measured;
  const PlanDocument& planned = *run.planned();
  const planner::CostModel costs(planned.model.graph, planned.plan.request.device);
  return {untiled_peak_bytes(planned.model, planned.plan.request, costs),
          {},
          false,
          "predicted: every pass one tile, every result stored"};
}

KeyFigure figure(const char* what, int64_t bytes, const std::string& basis, ColourRole role) {
  return {what, format(Unit::bytes, double(bytes)), double(bytes), basis, role};
}

std::string pixels_text(const ReportedRun& run) {
  const RunStats* ran = run.ran();
  if (ran != nullptr && ran->verification &&
      ran->verification->compared_with.find("untiled") != std::string::npos)
    return "Same pixels";
  return run.planned()->plan.exact ? "Same pixels by the plan" : "";
}

std::string pixels_basis(const ReportedRun& run) {
  const RunStats* ran = run.ran();
  if (ran != nullptr && ran->verification) {
    const Verification& compared = *ran->verification;
    return "Pixels: compared with " + compared.compared_with + " in " + run.stats_name() +
           (compared.largest_error == 0 ? "; no difference."
                                        : printed("; the largest error is %.1e of the largest value.",
                                                  compared.largest_error_relative));
  }
  if (!run.planned()->plan.exact) return "Pixels: the plan is approximate.";
  return "Pixels: the plan is exact; no run among these files was compared with the untiled decode "
         "(headroom-decode --verify).";
}

std::string ratio_text(double more, double less, const char* fewer, const char* greater) {
  const bool saves = more >= less;
  return format(Unit::ratio, saves ? more / less : less / more) + " " + (saves ? fewer : greater);
}

std::string upper_first(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

Headline headline_of(const Findings& found) {
  Headline headline;
  const ReportedRun* run = main_run(found);
  if (run == nullptr || run->planned()->plan.predicted_peak_bytes <= 0) return headline;
  const Plan& plan = run->planned()->plan;
  const Untiled untiled = untiled_of(found, *run);
  const bool ran = run->ran() != nullptr && run->ran()->peak_bytes > 0;
  const int64_t taken = ran ? run->ran()->peak_bytes : plan.predicted_peak_bytes;
  headline.figures.push_back(figure("untiled", untiled.bytes, untiled.basis, ColourRole::untiled));
  if (is_limit(plan.limit_bytes))
    headline.figures.push_back(
        figure("limit", plan.limit_bytes, "of " + run->plan->file.string(), ColourRole::limit));
  headline.figures.push_back(
      ran ? figure("measured", taken, "peak in " + run->stats_name(), ColourRole::measured)
          : figure("predicted", taken, "peak of " + run->plan->file.string(), ColourRole::predicted));
  std::string text = pixels_text(*run);
  text += (text.empty() ? "" : ", ") +
          ratio_text(double(untiled.bytes), double(taken), "less memory", "more memory");
  if (untiled.seconds && run->ran()->seconds > 0)
    text += ", " + ratio_text(*untiled.seconds, run->ran()->seconds, "faster", "slower");
  headline.sentence = upper_first(text) + " than the untiled decode of " + request_text(plan.request) + ".";
  headline.basis.push_back(pixels_basis(*run));
  headline.basis.push_back(std::string("Memory: untiled ") + untiled.basis + "; here " +
                           (ran ? "measured." : "predicted."));
  if (untiled.seconds) {
    headline.basis.push_back("Time: untiled " + format(Unit::seconds, *untiled.seconds) + ", here " +
                             format(Unit::seconds, run->ran()->seconds) + ", both measured on " +
                             run->ran()->device + ".");
  } else {
    headline.basis.push_back(
        "Time: not compared; no profile among these files measured this size untiled on the run's machine.");
  }
  return headline;
}

}  // namespace headroom::reports
