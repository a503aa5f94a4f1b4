#include "planner/explain/summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/short_name.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"
#include "planner/explain/peak.h"

namespace headroom::planner {
namespace {

constexpr size_t kMostNamed = 4;  ///< most tensors or passes in one line

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %%", std::abs(share) < 0.0995 ? 1 : 0, 100 * share);
  return text;
}

std::string line(const char* label, const std::string& text) {
  char start[16];
  std::snprintf(start, sizeof start, "%-9s", label);
  return start + text + "\n";
}

std::string amounts(const std::vector<LiveEntry>& entries, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, entries.size()); ++i)
    text += (i ? ", " : "") + short_name(entries[i].name) + " " + format_bytes(entries[i].bytes);
  return text;
}

/// Entries of tensors only. Totals of a kind are in the line above.
std::string largest_tensors(const PlanPeak& peak) {
  std::vector<LiveEntry> tensors;
  for (const LiveEntry& entry : peak.live) {
    if (!is_of_tensor(entry)) continue;
    tensors.push_back(entry);
    tensors.back().name = short_name(entry.name) + (entry.kind == MemoryKind::kept   ? " (kept)"
                                                    : entry.kind == MemoryKind::tile ? " (tile)"
                                                                                     : " (workspace)");
  }
  return amounts(tensors, kMostNamed);
}

std::string longest_text(const Plan& plan) {
  std::string text;
  const std::vector<size_t> longest = longest_passes(plan);
  for (size_t i = 0; i < std::min(kMostNamed, longest.size()); ++i) {
    const Pass& pass = plan.passes[longest[i]];
    if (plan.predicted_seconds <= 0) break;
    text += (i ? ", " : "; longest passes: ") + std::to_string(longest[i]) + " " + short_name(pass.name) +
            " " + format_seconds(pass.predicted_seconds) + " (" +
            percent_text(pass.predicted_seconds / plan.predicted_seconds) + ")";
  }
  return text;
}

/// Says what the rest of a limit could buy. Empty if the plan needs most of the limit.
std::string unused_text(const Plan& plan) {
  const int64_t bytes = plan.limit_bytes - plan.predicted_peak_bytes;
  if (bytes < plan.limit_bytes / 16 || plan.bound_seconds <= 0) return "";
  const std::string left = "; leaves " + format_bytes(bytes) + " of the limit, which would save ";
  const double saved = plan.predicted_seconds - plan.bound_seconds;
  return left + (plan.optimal ? "no time" : "at most " + format_seconds(saved));
}

std::string tiers_text(const Plan& plan, const Graph& graph) {
  std::string text = plan.weights == WeightResidency::resident
                         ? "weights stay on the device (" + format_bytes(plan.weights_bytes) + ")"
                         : "weights loaded pass by pass (at most " + format_bytes(plan.weights_bytes) + ")";
  if (const int64_t bytes = most_bytes_in(MemoryTier::host, plan, graph); bytes > 0)
    text += ", host memory " + format_bytes(bytes);
  if (const int64_t bytes = most_bytes_in(MemoryTier::scratch, plan, graph); bytes > 0)
    text += ", scratch file " + format_bytes(bytes) + " in " + plan.scratch_folder;
  return text;
}

std::string lower_text(const LowerPlan& lower, const Plan& plan) {
  std::string text = format_limit(lower.peak_bytes) + " in " + format_seconds(lower.seconds);
  if (plan.predicted_seconds > 0) {
    const double more = lower.seconds / plan.predicted_seconds - 1;
    text += std::string(" (") + (more < 0 ? "" : "+") + percent_text(more) + ")";
  }
  if (lower.needs_bytes) text += " and " + format_limit(*lower.needs_bytes) + " there";
  // The plan uses resident weights, but this remedy does not.
  if (plan.weights == WeightResidency::resident && lower.weights == WeightResidency::per_pass)
    text += " with weights loaded pass by pass";
  return text;
}

/// A line for each remedy.
std::vector<std::string> way_texts(const LowerPeak& lower, const Plan& plan) {
  std::vector<std::string> texts;
  const std::string* option = nullptr;
  const std::vector<LowerWay> ways = lower_ways(lower);
  for (const LowerWay& way : ways) {
    const bool another = option == nullptr || *option != way.remedy.option;
    option = &way.remedy.option;
    if (another) texts.push_back((option->empty() ? "--limit" : *option) + ": ");
    texts.back() += (another ? "" : "; ") + std::string(way.about_as_fast ? "" : "smallest limit ") +
                    lower_text(way.plan, plan);
  }
  return texts;
}

std::string lower_lines(const Plan& plan, const std::optional<LowerPeak>& lower, const std::string& remark) {
  if (!lower) return remark.empty() ? "" : line("lower", remark);
  std::string text;
  const char* label = "lower";
  const auto add = [&](const std::string& words) {
    text += line(label, words);
    label = "";
  };
  for (const std::string& way : way_texts(*lower, plan)) add(way);
  if (lower->remedies.empty() && lower->not_looked_at.empty())
    add("nothing: no option and no smaller limit has a plan below this peak");
  const std::string left = not_looked_at(*lower);
  if (!left.empty()) add("not searched, because time ran out: " + left);
  return text;
}

}  // namespace

std::string request_line(const Request& request) {
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "x" +
                     std::to_string(request.height_pixels);
  if (request.frames > 1) text += ", " + std::to_string(request.frames) + " frames";
  if (request.batch > 1) text += ", batch " + std::to_string(request.batch);
  return text + ", " + arithmetic_of(request) + " on " + name_of(request.device);
}

std::string summarise(const Plan& plan, const Model& model, const std::optional<LowerPeak>& lower,
                      const std::string& lower_remark) {
  double flops = 0;
  for (const Pass& pass : plan.passes) flops += pass.predicted_flops;
  char work[32];
  std::snprintf(work, sizeof work, "%.0f GFLOP", flops / 1e9);
  std::string text =
      request_line(plan.request) + ": " + std::to_string(plan.passes.size()) + " passes, " + work +
      (plan.request.batch > plan.micro_batch ? ", pictures " + std::to_string(plan.micro_batch) + " at a time"
                                             : "") +
      "\n";
  std::string peak_text = format_bytes(plan.predicted_peak_bytes) + " of " + format_bytes(plan.limit_bytes);
  if (plan.passes.empty()) return text + line("peak", peak_text);
  const PlanPeak peak = peak_of_plan(plan, model);
  text += line("peak", peak_text + " in pass " + std::to_string(peak.pass) + " (" +
                           short_name(peak.pass_name) + ") at " + peak.step);
  if (const std::string remark = above_untiled_remark(plan, model); !remark.empty()) text += line("", remark);
  text += line("held", amounts(by_kind(peak.live), kMemoryKinds));
  text += line("largest", largest_tensors(peak));
  text += line("time", seconds_text(plan) + " " + costs_text(plan) + longest_text(plan));
  text += lower_lines(plan, lower, lower_remark);
  text += line("plan", gap_text(plan) + (plan.exact ? ", exact; " : ", approximate; ") +
                           tiers_text(plan, model.graph) + unused_text(plan));
  if (plan.environment != Environment{})
    text += line("costs", plan.environment.device + "; " + plan.environment.libraries);
  if (!plan.engines.empty())
    text +=
        line("engines", std::to_string(plan.engines.size()) +
                            " convolutions of the profile have a faster engine than the library's choice");
  return text;
}

nlohmann::json to_json(const LowerPeak& lower) {
  nlohmann::json remedies = nlohmann::json::array();
  for (const Remedy& remedy : lower.remedies) {
    remedies.push_back({{"change", remedy.option.empty() ? "--limit" : remedy.option},
                        {"meaning", remedy.meaning},
                        {"smallest_limit_bytes", *remedy.smallest_limit_bytes},
                        {"seconds", remedy.seconds.value()},
                        {"weights", name_of(remedy.weights)}});
    if (remedy.needs_bytes) remedies.back()["needs_bytes"] = *remedy.needs_bytes;
    if (const auto& fast = remedy.about_as_fast) {
      remedies.back()["about_as_fast"] = {
          {"limit_bytes", fast->peak_bytes}, {"seconds", fast->seconds}, {"weights", name_of(fast->weights)}};
      if (fast->needs_bytes) remedies.back()["about_as_fast"]["needs_bytes"] = *fast->needs_bytes;
    }
  }
  return {{"remedies", std::move(remedies)},
          {"not_looked_at", lower.not_looked_at},
          {"not_looked_at_as_fast", lower.not_looked_at_as_fast}};
}

}  // namespace headroom::planner
