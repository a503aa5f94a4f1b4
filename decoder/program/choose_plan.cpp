#include "decoder/program/choose_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/gpu/free_on_card.h"
#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/ranked_plan_file.h"
#include "decoder/program/plan_beside.h"

namespace headroom {
namespace {

bool keeps_in_scratch(const Plan& plan) {
  return std::any_of(plan.materialised.begin(), plan.materialised.end(),
                     [](const Materialised& kept) { return kept.tier == MemoryTier::scratch; });
}

/// Options for a scratch file go with a plan, or any of several, that keeps tensors in one.
void check_scratch(const DecodeOptions& options, const std::vector<Plan>& plans) {
  if (std::any_of(plans.begin(), plans.end(), keeps_in_scratch)) return;
  refuse_given({{!options.scratch.empty(), "--scratch"}, {!options.scratch_limit.empty(), "--scratch-limit"}},
               options.plan_file + " keeps nothing in a scratch file");
}

/// The scratch folder of the command line in place of the plan's.
void take_scratch(const DecodeOptions& options, Plan& plan) {
  if (!options.scratch.empty()) plan.scratch_folder = options.scratch;
  if (!options.scratch_limit.empty())
    plan.scratch_limit_bytes = parse_bytes(options.scratch_limit, "--scratch-limit");
}

void check_device(const DecodeOptions& options, const Request& planned) {
  if (options.device.empty() || parse_device(options.device) == planned.device) return;
  throw InputError("--device: " + options.plan_file + " is a plan for " + name_of(planned.device) +
                   ", found " + options.device);
}

/// The plan of --plan, with the scratch folder of the command line.
ChosenPlan given_plan(const DecodeOptions& options, const Model& model) {
  const PlanFile parsed(options.plan_file);
  ChosenPlan chosen{for_frames(model, parsed.request().frames), {}};
  chosen.plan = parsed.plan(chosen.model.graph);
  check_scratch(options, {chosen.plan});
  take_scratch(options, chosen.plan);
  check_device(options, chosen.plan.request);
  return chosen;
}

/// What headroom-plan answers, and for a clip of how many frames.
struct PlanAnswer {
  nlohmann::json document;
  int64_t frames;
};

/// The plan that headroom-plan makes for --limit, and on a GPU for so much of the host's memory.
PlanAnswer answer_of(const DecodeOptions& options, const Model& model, const Array& latent,
                     const gpu::Gpu* gpu, int64_t host_limit_bytes, int32_t ranks = 1) {
  // Before a solve is waited for.
  if (!options.scratch_limit.empty()) parse_bytes(options.scratch_limit, "--scratch-limit");
  if (latent.shape.size() < 4 || latent.shape.size() > 5) {
    throw InputError(options.latents.front() + ": expected a latent N×C×H×W or N×C×T×H×W");
  }
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  const int64_t frames = latent.shape.size() == 5 ? (latent.shape[2] - 1) * scale.t + 1 : 1;
  const int64_t height = latent.shape[latent.shape.size() - 2] * scale.y;
  const int64_t width = latent.shape.back() * scale.x;
  const bool all_that_is_free = gpu != nullptr && options.limit == "auto";
  std::vector<std::string> words{
      "--model",  options.model,
      "--size",   std::to_string(width) + "x" + std::to_string(height),
      "--frames", std::to_string(frames),
      "--batch",  std::to_string(latent.shape[0]),
      "--limit",  all_that_is_free ? std::to_string(limit_on_card(*gpu)) : options.limit};
  if (host_limit_bytes > 0) words.insert(words.end(), {"--host-limit", std::to_string(host_limit_bytes)});
  if (!options.dtype.empty()) words.insert(words.end(), {"--dtype", options.dtype});
  if (!options.profile_file.empty()) words.insert(words.end(), {"--profile", options.profile_file});
  // Where several ranks decode, it is for rows of the output alone.
  if (!options.scratch.empty() && ranks == 1) words.insert(words.end(), {"--scratch", options.scratch});
  if (!options.scratch_limit.empty()) words.insert(words.end(), {"--scratch-limit", options.scratch_limit});
  if (ranks > 1) words.insert(words.end(), {"--ranks", std::to_string(ranks)});
  return {plan_from_program_beside(words, gpu != nullptr ? DeviceKind::cuda : DeviceKind::cpu), frames};
}

ChosenPlan asked_plan(const DecodeOptions& options, const Model& model, const Array& latent,
                      const gpu::Gpu* gpu, int64_t host_limit_bytes = 0) {
  const PlanAnswer answer = answer_of(options, model, latent, gpu, host_limit_bytes);
  ChosenPlan chosen{for_frames(model, answer.frames), {}};
  chosen.plan = plan_from_json(JsonFields(answer.document, "headroom-plan"), chosen.model.graph);
  return chosen;
}

}  // namespace

std::string next_smaller_plan(const DecodeOptions& options, const Model& model, const Array& latent,
                              const Plan& refused, const gpu::Gpu& gpu) {
  DecodeOptions smaller = options;
  smaller.plan_file.clear();
  smaller.limit = "auto";
  smaller.dtype = name_of(refused.request.dtype);
  try {
    const Plan plan = asked_plan(smaller, model, latent, &gpu, refused.host_limit_bytes).plan;
    return "takes " + format_bytes(plan.predicted_peak_bytes) + ", predicted " +
           format_seconds(plan.predicted_seconds) + " instead of " +
           format_seconds(refused.predicted_seconds);
  } catch (const std::exception& none) {  // whatever it is, what was refused is what counts
    return std::string("found none: ") + none.what();
  }
}

ChosenPlan choose_plan(const DecodeOptions& options, const Model& model, const Array& latent,
                       const gpu::Gpu* gpu) {
  return options.plan_file.empty() ? asked_plan(options, model, latent, gpu) : given_plan(options, model);
}

ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent,
                         const RankCount& count) {
  if (options.plan_file.empty()) {
    if (options.limit == "auto" && count.ranks > 1)
      throw InputError("--limit: expected bytes for each of several ranks, found auto");
    const PlanAnswer answer = answer_of(options, model, latent, count.gpu, 0, count.ranks);
    ChosenRanks chosen{for_frames(model, answer.frames), {}};
    chosen.plan = ranked_plan_from_json(JsonFields(answer.document, "headroom-plan"), chosen.model.graph);
    return chosen;
  }
  const PlanFile parsed(options.plan_file);
  ChosenRanks chosen{for_frames(model, parsed.request().frames), {}};
  chosen.plan = parsed.ranked_plan(chosen.model.graph);
  check_device(options, chosen.plan.request);
  return chosen;
}

std::string upcast_note(const Model& model, const DecodeOptions& options) {
  return options.dtype.empty() ? "" : upcast_note(model, parse_dtype(options.dtype, "--dtype"));
}

}  // namespace headroom
