#include "reports/render/findings.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "planner/answer/planner.h"
#include "planner/explain/analyze.h"
#include "planner/explain/remedy.h"
#include "reports/figures/history.h"

namespace headroom::reports {
namespace {

/// The scaling chart reaches twice the planned size across, and at least this.
constexpr int64_t kLeastPixelsAcross = 4096;
constexpr int64_t kMostPixelsAcross = 32768;

struct ChosenCosts {
  planner::CostModel costs;
  std::string words;  ///< "by the costs in profile.json"
};

/// Costs of the first profile that serves the request, or else assumed costs.
ChosenCosts costs_of(const Model& model, const Request& request, const std::vector<DocumentPtr>& profiles) {
  planner::Question question{.request = request, .other_environment = true};
  for (const DocumentPtr& file : profiles) {
    question.profile = {file, file->as<profiler::Profile>()};
    question.profile_file = file->file.string();
    try {
      return {planner::costs_of(model.graph, question), "by the costs in " + question.profile_file};
    } catch (const InputError&) {
      continue;  // the profile is of another model
    }
  }
  return {planner::CostModel(model.graph, request.device), "by assumed costs"};
}

/// Costs with which the plan was made, if the files have them. Peaks computed with another workspace are not
/// comparable.
ChosenCosts costs_of(const PlanDocument& document, std::vector<DocumentPtr> profiles) {
  const Plan& plan = document.plan;
  std::erase_if(profiles, [&](const DocumentPtr& file) {
    const auto& profile = *file->as<profiler::Profile>();
    return plan.assumed || Environment{profile.device, profile.libraries} != plan.environment;
  });
  ChosenCosts chosen = costs_of(document.model, plan.request, profiles);
  if (chosen.costs.assumed())
    chosen.words +=
        plan.assumed ? ", as the plan was" : ", because the plan's profile is not among the files";
  return chosen;
}

/// True if two plans have the same remedies. Their limits may differ.
bool same_question(const Plan& a, const Plan& b) {
  return a.request == b.request && a.assumed == b.assumed && a.environment == b.environment &&
         a.host_limit_bytes == b.host_limit_bytes && a.scratch_limit_bytes == b.scratch_limit_bytes;
}

PeakFindings peak_of(const DocumentPtr& file, const Findings& found, const ReportOptions& options) {
  const PlanDocument& document = *file->as<PlanDocument>();
  PeakFindings peak{file, peak_cause(file), {}, {}};
  const bool before = std::any_of(found.peaks.begin(), found.peaks.end(), [&](const PeakFindings& other) {
    return same_question(other.plan->as<PlanDocument>()->plan, document.plan);
  });
  if (options.quick || before) return peak;
  const ChosenCosts chosen = costs_of(document, found.profiles);
  peak.remedies_remark = "Remedies are computed " + chosen.words + ".";
  try {
    const auto in_time = planner::for_seconds(planner::kSecondsToLook);
    planner::LowerPeak lower = planner::what_would_lower(
        {document.model, document.plan.request, planner::options_of(document.plan), chosen.costs},
        document.plan, [&] {
          options.progress(0, "what would lower the peak");
          return in_time();
        });
    const std::string left = planner::not_looked_at(lower);
    if (!left.empty()) peak.remedies_remark += " Not searched, because time ran out: " + left + ".";
    peak.remedies = std::move(lower.remedies);
  } catch (const InputError& error) {
    peak.remedies_remark = std::string("Remedies could not be computed: ") + error.what();
  }
  return peak;
}

/// Predicts scaling for the first plan's decoder, if there is a plan. Adds measurements from all files.
void find_scaling(Findings& found, const ReportOptions& options) {
  Scaling sizes;
  const auto planned = std::find_if(found.runs.begin(), found.runs.end(),
                                    [](const ReportedRun& run) { return run.planned() != nullptr; });
  if (planned != found.runs.end() && !options.quick) {
    const PlanDocument& document = *planned->planned();
    const Request& request = document.plan.request;
    const int64_t across = 2 * std::max(request.width_pixels, request.height_pixels);
    const ChosenCosts chosen = costs_of(document, found.profiles);
    try {
      const std::vector<Request> ladder =
          size_ladder(document.model, request, std::clamp(across, kLeastPixelsAcross, kMostPixelsAcross));
      size_t done = 0;
      sizes = scaling(document.model, ladder, planner::options_of(document.plan), chosen.costs, [&] {
        options.progress(double(done++) / double(ladder.size()), "peak against resolution");
        return true;
      });
      found.scaling_remark = "Peaks without a measurement are computed " + chosen.words + ".";
    } catch (const InputError& error) {
      found.scaling_remark = std::string("Peaks of other sizes could not be computed: ") + error.what();
    }
  }
  sizes.limit_bytes = found.other_limit_bytes ? *found.other_limit_bytes
                      : found.runs.empty()    ? 0
                                              : found.runs.front().limit_bytes();
  add_measured(sizes, found.documents);
  const bool anything = !sizes.planned.empty() || !sizes.untiled.empty() || !sizes.measured_untiled.empty() ||
                        !sizes.measured.empty();
  if (anything && !options.quick) found.scaling = std::move(sizes);
}

void find_need(Findings& found, const ReportOptions& options) {
  if (found.histories.empty()) return;
  if (!options.decoder) {
    const auto& history = *found.histories.front()->as<profiler::MemoryHistory>();
    const std::string model = likely_model(history, device_of(history, found.recorded_device));
    found.need_remark =
        "Pass --model and --size to see it here" + (model.empty() ? "." : ", such as --model " + model + ".");
    return;
  }
  if (options.quick) {
    found.need_remark = "--quick leaves it out.";
    return;
  }
  options.progress(0, "what Headroom would need");
  const AskedDecoder& asked = *options.decoder;
  try {
    found.need = decoder_need(asked.model, asked.request, {},
                              costs_of(asked.model, asked.request, found.profiles).costs);
  } catch (const InputError& error) {
    found.need_remark = std::string("It could not be computed: ") + error.what();
  }
}

}  // namespace

Findings work_out(const std::vector<DocumentPtr>& documents, const ReportOptions& options) {
  Findings found;
  found.documents = documents;
  found.other_limit_bytes = options.limit_bytes;
  found.recorded_device = options.recorded_device;
  found.runs = pair_runs(documents);
  bring_main_run_forward(found.runs);
  found.shared = shared_runs(documents);
  for (const DocumentPtr& document : documents) {
    if (document->as<profiler::Profile>() != nullptr) found.profiles.push_back(document);
    if (document->as<FrontierDocument>() != nullptr) found.frontiers.push_back(document);
    if (document->as<profiler::MemoryHistory>() != nullptr) found.histories.push_back(document);
    if (document->as<profiler::EagerRecording>() != nullptr) found.eager.push_back(document);
  }
  for (ReportedRun& run : found.runs) {
    if (run.plan && !run.plan_shown_before)
      run.predicted = std::make_shared<const Timeline>(predicted_timeline(run.plan));
    if (run.trace) run.measured = std::make_shared<const Timeline>(measured_timeline(run.trace));
    if (run.plan && !run.plan_shown_before) found.peaks.push_back(peak_of(run.plan, found, options));
  }
  find_scaling(found, options);
  find_need(found, options);
  return found;
}

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
