#include "planner/explain/schedule.h"

#include "decoder/graph/errors.h"
#include "planner/explain/live_memory.h"
#include "planner/explain/plan_peak.h"
#include "planner/explain/schedule_pass.h"
#include "planner/explain/schedule_text.h"

namespace headroom::planner {
namespace {

std::string heading(const Plan& plan, const Model& model, const MemoryModel& memory,
                    const RoundedAmounts& amounts) {
  const Request& request = plan.request;
  const auto passes = static_cast<int64_t>(plan.passes.size());
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "x" +
                     std::to_string(request.height_pixels) +
                     (request.frames > 1 ? ", " + counted(request.frames, "frame") : "") + ", " +
                     name_of(request.dtype) + " on " + name_of(request.device) + ": " +
                     std::to_string(passes) + (passes == 1 ? " pass" : " passes, one after another");
  if (request.batch > 1)
    text += ", " + counted(plan.micro_batch, "item") + " of " + std::to_string(request.batch) + " at a time";
  if (!plan.share.alone())
    text += "; rank " + std::to_string(plan.share.rank) + " of " + std::to_string(plan.share.ranks);
  text += std::string("\nall amounts are in ") + amounts.unit() +
          ", rounded so that sums add up"
          "; a[3..5] are blocks 3, 4 and 5 of tensor a, from the top; tiles are columns x rows x frames\n";
  text +=
      "each band is shown at its highest moment, during the step named: live = throughout the pass + kept "
      "blocks + steps\n";
  const LiveBytes live = live_throughout(model.graph, plan);
  const LiveEntry reserve = reserve_entry(live.reserve, request.device);
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
