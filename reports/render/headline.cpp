#include "reports/render/sections.h"

#include <algorithm>

#include "decoder/base/short_name.h"
#include "planner/explain/peak.h"
#include "reports/figures/history.h"
#include "reports/figures/layers.h"

namespace headroom::reports {
namespace {

/// Memory that the untiled decode of a plan's request needs, and the source of the figure.
struct Untiled {
  int64_t bytes = 0;
  std::optional<double> seconds{};  ///< set if measured on the run's device
  bool measured = false;
  std::string basis;
};

/// The untiled peak that a profile measured at exactly this size.
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
  const planner::UntiledPeak untiled = planner::untiled_peak(planned.model, planned.plan.request, costs);
  return {untiled.bytes,
          {},
          false,
          untiled.by_diffusers
              ? "predicted from diffusers' code, with the peak at " + short_name(untiled.layer)
              : "predicted: every pass one tile, every result stored"};
}

/// Largest relative difference at which two pictures count as equal, for any dtype. One step of 8 bits is 80
/// times as large.
constexpr double kSameRelative = 1e-4;

std::string pixels_text(const ReportedRun& run) {
  const Plan& plan = run.planned()->plan;
  const RunStats* ran = run.ran();
  if (ran != nullptr && ran->verification && ran->verification->with_untiled()) {
    const double error = ran->verification->largest_error_relative;
    return error <= kSameRelative ? "Same pixels" : printed("Pixels within %.1e of the largest value", error);
  }
  if (!plan.exact) return "";
  const std::string rounding = rounding_of(plan.request);
  return rounding.empty() ? "Same pixels by the plan"
                          : "Same pixels by the plan, but for rounding in " + rounding;
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

std::string time_basis(const ReportedRun& run, const Untiled& untiled) {
  if (!untiled.seconds)
    return "Time: not compared; no profile among these files measured this size untiled on the run's "
           "machine.";
  return "Time: untiled " + format(Unit::seconds, *untiled.seconds) + ", here " +
         format(Unit::seconds, run.ran()->seconds) + ", both measured on " + run.ran()->device + ".";
}

std::string ratio_text(double more, double less, const char* fewer, const char* greater) {
  const bool saves = more >= less;
  return format(Unit::ratio, saves ? more / less : less / more) + " " + (saves ? fewer : greater);
}

std::string upper_first(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

/// Source of a run's peak and its parts. The memory chart shows the decode's part only.
std::string measured_basis(const ReportedRun& run) {
  const RunStats& ran = *run.ran();
  std::string text = "peak in " + run.stats_name();
  if (has_parts(ran)) {
    text += ": " + format(Unit::bytes, double(ran.pool_peak_bytes)) + " of the decode, " +
            format(Unit::bytes, double(ran.outside_bytes)) + " of other process memory";
  }
  return text;
}

/// A sentence on another plan or run: "small.json: 86.9 MiB predicted within a limit of 88.0 MiB, in 4.77 s".
std::string beside_sentence(const ReportedRun& run) {
  const Plan& plan = run.planned()->plan;
  const bool ran = run.ran() != nullptr && run.ran()->peak_bytes > 0;
  std::string text = (ran ? run.stats_name() : run.plan->file.string()) + ": " +
                     format(Unit::bytes, double(ran ? run.ran()->peak_bytes : plan.predicted_peak_bytes)) +
                     (ran ? " measured" : " predicted");
  if (is_limit(plan.limit_bytes))
    text += " within a limit of " + format(Unit::bytes, double(plan.limit_bytes));
  return text + ", in " + format(Unit::seconds, ran ? run.ran()->seconds : plan.predicted_seconds) + ".";
}

Headline plan_headline(const Findings& found, const ReportedRun& run) {
  Headline headline;
  const Plan& plan = run.planned()->plan;
  const Untiled untiled = untiled_of(found, run);
  const bool ran = run.ran() != nullptr && run.ran()->peak_bytes > 0;
  const int64_t taken = ran ? run.ran()->peak_bytes : plan.predicted_peak_bytes;
  headline.figures.push_back(key_figure("untiled", untiled.bytes, untiled.basis, ColourRole::untiled));
  if (is_limit(plan.limit_bytes))
    headline.figures.push_back(
        key_figure("limit", plan.limit_bytes, "of " + run.plan->file.string(), ColourRole::limit));
  headline.figures.push_back(
      ran ? key_figure("measured", taken, measured_basis(run), ColourRole::measured)
          : key_figure("predicted", taken, "peak of " + run.plan->file.string(), ColourRole::predicted));
  std::string text = pixels_text(run);
  text += (text.empty() ? "" : ", ") +
          ratio_text(double(untiled.bytes), double(taken), "less memory", "more memory");
  if (untiled.seconds && run.ran()->seconds > 0)
    text += ", " + ratio_text(*untiled.seconds, run.ran()->seconds, "faster", "slower");
  headline.sentence = upper_first(text) + " than the untiled decode of " + request_text(plan.request) + ".";
  headline.basis.push_back(pixels_basis(run));
  headline.basis.push_back(std::string("Memory: untiled ") + untiled.basis + "; here " +
                           (ran ? "measured." : "predicted."));
  headline.basis.push_back(time_basis(run, untiled));
  return headline;
}

}  // namespace

KeyFigure key_figure(const std::string& what, int64_t bytes, const std::string& basis, ColourRole role) {
  return {what, format(Unit::bytes, double(bytes)), double(bytes), basis, role};
}

Headline headline_of(const Findings& found) {
  Headline headline;
  if (!found.runs.empty() && found.runs.front().planned() != nullptr) {
    const ReportedRun& main = found.runs.front();
    if (main.planned()->plan.predicted_peak_bytes <= 0) return headline;
    headline = plan_headline(found, main);
    for (const ReportedRun& run : found.runs) {
      if (&run != &main && run.planned() != nullptr) headline.beside.push_back(beside_sentence(run));
    }
  } else if (!found.runs.empty() || !found.shared.empty()) {
    return headline;
  } else if (!found.histories.empty()) {
    headline = history_headline(found);
  } else if (!found.frontiers.empty()) {
    headline = frontier_headline(*found.frontiers.front()->as<FrontierDocument>());
  } else if (!found.profiles.empty()) {
    headline = profile_headline(*found.profiles.front()->as<profiler::Profile>());
  }
  return headline;
}

/// The untiled peaks of the three largest profiled sizes.
Headline profile_headline(const profiler::Profile& profile) {
  constexpr size_t kMost = 3;
  std::vector<const profiler::ProfiledSize*> sizes;
  for (const profiler::ProfiledSize& size : profile.sizes) sizes.push_back(&size);
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto* a, const auto* b) { return a->peak_bytes < b->peak_bytes; });
  if (sizes.size() > kMost) sizes.erase(sizes.begin(), sizes.end() - kMost);
  Headline headline;
  for (const profiler::ProfiledSize* size : sizes) {
    headline.figures.push_back(key_figure("untiled, " + size_text(*size), size->peak_bytes,
                                          "measured in " + format(Unit::seconds, size->seconds),
                                          ColourRole::untiled));
  }
  if (!sizes.empty()) headline.sentence = profile_sentence(profile);
  return headline;
}

Headline frontier_headline(const FrontierDocument& frontier) {
  if (frontier.points.empty()) return {};
  const planner::FrontierPoint &fastest = frontier.points.front(), &smallest = frontier.points.back();
  Headline headline;
  for (const auto& [what, point] :
       {std::pair("fastest plan", &fastest), std::pair("smallest plan", &smallest)})
    headline.figures.push_back(key_figure(what, point->peak_bytes,
                                          "predicted, in " + format(Unit::seconds, point->seconds),
                                          ColourRole::planned));
  headline.sentence = frontier_sentence(frontier);
  return headline;
}

/// PyTorch's peak and last request, the memory that it had, and the memory that Headroom needs.
Headline history_headline(const Findings& found) {
  const auto& history = *found.histories.front()->as<profiler::MemoryHistory>();
  const profiler::DeviceHistory& device = device_of(history, found.recorded_device);
  if (device.allocated_bytes.empty()) return {};
  const std::string file = found.histories.front()->file.filename().string();
  const std::string on = " on " + device.device;
  const int64_t peak = device.allocated_bytes[device.peak()];
  Headline headline;
  headline.figures.push_back(
      key_figure("PyTorch's peak", peak, "allocated" + on + ", in " + file, ColourRole::measured));
  const std::optional<int64_t> had =
      found.other_limit_bytes ? found.other_limit_bytes : available_bytes(device);
  if (had) {
    headline.figures.push_back(key_figure(
        found.other_limit_bytes ? "limit" : "available memory", *had,
        found.other_limit_bytes ? "of --limit" : on.substr(1) + " when PyTorch ran out", ColourRole::limit));
  }
  const std::optional<LastRequest> last = last_request(device);
  if (last && last->refused) {
    headline.sentence = "PyTorch ran out of memory" + on + ": a request for " +
                        format(Unit::bytes, double(last->bytes)) + " failed, with " +
                        format(Unit::bytes, double(device.allocated_bytes[last->moment])) + " allocated.";
  } else {
    headline.sentence =
        "PyTorch took at most " + format(Unit::bytes, double(peak)) + on + ". No request failed.";
  }
  if (found.need) {
    headline.figures.push_back(key_figure("Headroom's smallest limit", found.need->smallest_bytes,
                                          "predicted for " + request_text(found.need->request),
                                          ColourRole::predicted));
  }
  return headline;
}

}  // namespace headroom::reports
