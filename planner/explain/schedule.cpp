#include "planner/explain/schedule.h"

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/explain.h"
#include "planner/explain/live_memory.h"
#include "planner/explain/plan_peak.h"
#include "planner/explain/schedule_pass.h"
#include "planner/explain/schedule_text.h"

namespace headroom::planner {
namespace {

/// The request, the predictions, and the plan's memory in lower tiers.
std::string plan_heading(const Plan& plan, const Graph& graph) {
  const Request& request = plan.request;
  double flops = 0;
  for (const Pass& pass : plan.passes) flops += pass.predicted_flops;
  std::string text =
      request.model + " " + std::to_string(request.width_pixels) + "x" +
      std::to_string(request.height_pixels) +
      (request.frames > 1 ? ", " + counted(request.frames, "frame") : "") + ", batch " +
      std::to_string(request.batch) + " (" + std::to_string(plan.micro_batch) + " at a time), " +
      arithmetic_of(request) + on_text(request.device) + ": " + std::to_string(plan.passes.size()) +
      (plan.passes.size() == 1 ? " pass, " : " passes, ") + gflops_text(flops) +
      (plan.share.alone()
           ? ""
           : "; rank " + std::to_string(plan.share.rank) + " of " + std::to_string(plan.share.ranks)) +
      "\n";
  text += "peak " + format_bytes(plan.predicted_peak_bytes) + " of " + format_bytes(plan.limit_bytes) +
          ", time " + seconds_text(plan) + " " + costs_text(plan) + ", " + gap_text(plan) +
          (plan.exact ? ", exact\n" : ", approximate\n");
  if (plan.weights == WeightResidency::per_pass)
    text += "weights come pass by pass, at most " + format_bytes(plan.weights_bytes) + " at a time\n";
  if (const int64_t bytes = most_bytes_in(MemoryTier::host, plan, graph); bytes > 0) {
    text += "host memory " + format_bytes(bytes) + " of " + format_bytes(plan.host_limit_bytes) + "\n";
  }
  if (const int64_t bytes = most_bytes_in(MemoryTier::scratch, plan, graph); bytes > 0) {
    text += "scratch file " + format_bytes(bytes) + " of " + format_bytes(plan.scratch_limit_bytes) + " in " +
            plan.scratch_folder + "\n";
  }
  if (plan.host_weights_bytes > 0)
    text += "weights in pinned host memory " + format_bytes(plan.host_weights_bytes) + "\n";
  if (plan.environment != Environment{}) {
    text += "costs of " + plan.environment.device + "; " + plan.environment.libraries + "\n";
  }
  return text;
}

std::string heading(const Plan& plan, const Model& model, const MemoryModel& memory,
                    const RoundedAmounts& amounts) {
  const Request& request = plan.request;
  std::string text = plan_heading(plan, model.graph);
  text += std::string("\nall amounts below are in ") + amounts.unit() +
          ", rounded so that sums add up; a[3..5] are blocks 3, 4 and 5 of tensor a, from the top; tiles are "
          "columns x rows x frames\n";
  text +=
      "each band is shown at its peak, which is in the listed step: live = throughout the pass + kept "
      "blocks + steps\n";
  const LiveBytes live = live_throughout(model.graph, plan);
  const LiveEntry reserve = reserve_entry(live.reserve, device_record(request.device));
  std::vector<std::string> parts;
  std::vector<int64_t> bytes;
  for (const auto& [name, amount] :
       std::vector<std::pair<std::string, int64_t>>{{"weights", live.resident_weights},
                                                    {"latent", live.latent},
                                                    {"statistics", live.state},
                                                    {kPictureEntry, live.picture},
                                                    {reserve.name, reserve.bytes}}) {
    if (amount == 0) continue;
    parts.push_back(name + " ");
    bytes.push_back(amount);
  }
  const std::vector<std::string> sums = amounts.sum(bytes);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] += sums[i];
  text +=
      "throughout the decode: " + joined(parts, " + ") + (parts.empty() ? "" : " = ") + sums.back() + "\n";
  if (plan.passes.empty()) return text;
  const PlanPeak peak = peak_of_plan(plan, model, memory);
  text += "highest: " + amounts.text(peak.bytes) + " live in pass " + std::to_string(peak.pass) + ", band " +
          std::to_string(peak.point.band) + ", step " + std::to_string(peak.point.step);
  return text +
         (peak.bytes == plan.predicted_peak_bytes
              ? ": the predicted peak of the plan\n"
              : "; the plan predicts " + amounts.text(plan.predicted_peak_bytes) + " on its machine\n");
}

}  // namespace

std::string schedule(const Plan& plan, const Model& model, const ScheduleOptions& options) {
  if (options.pass && *options.pass >= plan.passes.size()) {
    throw InputError("--pass " + std::to_string(*options.pass) + ": the plan has passes 0 to " +
                     std::to_string(plan.passes.size() - 1));
  }
  const MemoryModel memory = memory_model_of_plan(plan, model.graph);
  const RoundedAmounts amounts(plan.predicted_peak_bytes);
  const auto awaited = awaited_rows(model.graph, plan, options.transfers);
  std::string text = heading(plan, model, memory, amounts);
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    if (options.pass && pass != *options.pass) continue;
    text += PassSchedule(plan, model.graph, pass, memory).text(amounts, awaited[pass], options);
  }
  return text;
}

}  // namespace headroom::planner
