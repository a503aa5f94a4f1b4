#include "planner/decode_program/choose_plan.h"

#include <algorithm>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/plan/plan_file.h"
#include "planner/program/request_options.h"
#include "planner/program/solve_ranks.h"

namespace headroom {
namespace {

bool keeps_in_scratch(const Plan& plan) {
  return std::any_of(plan.kept.begin(), plan.kept.end(),
                     [](const KeptTensor& kept) { return kept.tier == MemoryTier::scratch; });
}

/// Rejects scratch options if the plan keeps no tensor in a scratch file.
void check_scratch(const SharedOptions& options, const Plan& plan) {
  if (keeps_in_scratch(plan)) return;
  refuse_given({{!options.scratch.empty(), "--scratch"}, {!options.scratch_limit.empty(), "--scratch-limit"}},
               options.plan_file + " keeps nothing in a scratch file");
}

/// Replaces the plan's scratch folder and limit by those of the command line.
void take_scratch(const SharedOptions& options, Plan& plan) {
  if (!options.scratch.empty()) plan.scratch_folder = options.scratch;
  if (!options.scratch_limit.empty())
    plan.scratch_limit_bytes = parse_bytes(options.scratch_limit, "--scratch-limit");
}

void check_direction(const std::string& plan_file, Direction planned, Direction asked) {
  if (planned == asked) return;
  throw InputError(plan_file +
                   (!encodes(asked)
                        ? ": a plan of an encode; run it with headroom-decode encode --plan"
                        : ": a plan of a decode; expected one of headroom-plan --direction encode"));
}

/// The plan of --plan, with the command line's scratch folder.
Plan given_plan(const SharedOptions& options, const Model& any_frames, Model& model) {
  const PlanFile parsed(options.plan_file);
  check_direction(options.plan_file, parsed.request().direction, direction_of(any_frames.graph));
  model = for_frames(any_frames, parsed.request().frames);
  Plan plan = parsed.plan(model.graph);
  check_scratch(options, plan);
  take_scratch(options, plan);
  check_device(options.device, options.plan_file, plan.request.device);
  return plan;
}

ChosenRanks asked_ranks(const DecodeOptions& options, const Model& any_frames,
                        const planner::PictureSize& picture, int32_t count, const gpu::Gpu* gpu) {
  if (options.limit == "auto" && count > 1)
    throw InputError("--limit: expected bytes for each of several ranks, found auto");
  ChosenRanks chosen{for_frames(any_frames, picture.extent.t), {}};
  DecodeOptions kept_on_device = options;
  kept_on_device.scratch.clear();  // with several ranks, scratch files hold only rows of the output
  planner::RankOptions ranks;
  ranks.ranks = std::to_string(count);
  chosen.plan = planner::plan_ranks(chosen.model, question_of(kept_on_device, chosen.model, picture, gpu),
                                    ranks, options.limit);
  return_free_heap();  // return the search's heap memory, because the limit covers the whole process
  return chosen;
}

}  // namespace

planner::Question question_of(const SharedOptions& options, const Model& model,
                              const planner::PictureSize& picture, const gpu::Gpu* gpu) {
  planner::RequestOptions asked;
  asked.model = options.model;
  asked.profile_file = options.profile_file;
  if (!options.dtype.empty()) asked.dtype = options.dtype;
  asked.device = name_of(kind_of(gpu));
  asked.tf32 = options.tf32;
  asked.other_environment = options.other_environment && !options.profile_file.empty();
  asked.scratch_folder = options.scratch;
  asked.scratch_limit = options.scratch_limit;
  return asked.question(model, picture);
}

size_t add_task(const SharedOptions& options, const Model& model, const planner::PictureSize& picture,
                Work& work) {
  if (!work.tasks.empty()) {
    Task other_size = work.tasks.front();  // with the profile that has been read
    Request& request = other_size.question->request;
    request.width_pixels = picture.extent.x;
    request.height_pixels = picture.extent.y;
    request.batch = picture.batch;
    work.tasks.push_back(std::move(other_size));
  } else if (!options.plan_file.empty()) {
    work.plans.push_back(given_plan(options, model, work.model));
    work.tasks.push_back({options.plan_file});
  } else {
    work.model = for_frames(model, picture.extent.t);
    planner::Question question = question_of(options, work.model, picture, work.gpu.get());
    const bool all_free = options.limit == "auto";
    if (!all_free) question.options.limit_bytes = parse_bytes(options.limit, "--limit");
    work.tasks.push_back({"--limit", std::move(question), all_free});
  }
  return work.tasks.size() - 1;
}

planner::PictureSize picture_of(const Model& model, const Array& latent, const std::string& option) {
  if (latent.shape.size() < 4 || latent.shape.size() > 5)
    throw InputError(option + ": expected a latent N×C×H×W or N×C×T×H×W");
  return {extent_at(picture_scale(model.graph), extent_of_array(latent.shape)), latent.shape[0]};
}

ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent, int32_t ranks,
                         const gpu::Gpu* gpu) {
  if (options.plan_file.empty())
    return asked_ranks(options, model, picture_of(model, latent, options.latents.front()), ranks, gpu);
  const PlanFile parsed(options.plan_file);
  ChosenRanks chosen{for_frames(model, parsed.request().frames), {}};
  chosen.plan = parsed.plans(chosen.model.graph);
  check_device(options.device, options.plan_file, chosen.plan.request.device);
  return chosen;
}

std::string upcast_note(const Model& model, const SharedOptions& options) {
  return options.dtype.empty() ? "" : upcast_note(model, parse_dtype(options.dtype, "--dtype"));
}

}  // namespace headroom
