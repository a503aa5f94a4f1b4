#include "planner/decode_program/choose_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/free_on_card.h"
#include "decoder/graph/geometry.h"
#include "decoder/plan/plan_file.h"
#include "planner/program/limit_argument.h"
#include "planner/program/request_options.h"
#include "planner/program/solve_ranks.h"

namespace headroom {
namespace {

bool keeps_in_scratch(const Plan& plan) {
  return std::any_of(plan.kept.begin(), plan.kept.end(),
                     [](const KeptTensor& kept) { return kept.tier == MemoryTier::scratch; });
}

/// Rejects scratch options if the plan keeps no tensor in a scratch file.
void check_scratch(const DecodeOptions& options, const Plan& plan) {
  if (keeps_in_scratch(plan)) return;
  refuse_given({{!options.scratch.empty(), "--scratch"}, {!options.scratch_limit.empty(), "--scratch-limit"}},
               options.plan_file + " keeps nothing in a scratch file");
}

/// Replaces the plan's scratch folder and limit by those of the command line.
void take_scratch(const DecodeOptions& options, Plan& plan) {
  if (!options.scratch.empty()) plan.scratch_folder = options.scratch;
  if (!options.scratch_limit.empty())
    plan.scratch_limit_bytes = parse_bytes(options.scratch_limit, "--scratch-limit");
}

/// Sets the job's plan from --plan, with the command line's scratch folder.
void take_given_plan(const DecodeOptions& options, const Model& model, DecodeJob& job) {
  const PlanFile parsed(options.plan_file);
  if (parsed.request().direction == Direction::encode)
    throw InputError(options.plan_file + ": a plan of an encode; run it with headroom-decode encode --plan");
  job.model = for_frames(model, parsed.request().frames);
  job.plan = parsed.plan(job.model.graph);
  check_scratch(options, job.plan);
  take_scratch(options, job.plan);
  check_device(options.device, options.plan_file, job.plan.request.device);
}

/// Makes a planner request from the options and the latent's shape.
planner::RequestOptions request_for(const DecodeOptions& options, const Model& model, const Array& latent,
                                    const gpu::Gpu* gpu) {
  if (latent.shape.size() < 4 || latent.shape.size() > 5)
    throw InputError(options.latents.front() + ": expected a latent N×C×H×W or N×C×T×H×W");
  const Extent picture = extent_at(picture_scale(model.graph), extent_of_array(latent.shape));
  planner::RequestOptions asked;
  asked.model = options.model;
  asked.profile_file = options.profile_file;
  asked.size = std::to_string(picture.x) + "x" + std::to_string(picture.y);
  asked.frames = picture.t;
  asked.batch = latent.shape[0];
  if (!options.dtype.empty()) asked.dtype = options.dtype;
  asked.device = name_of(kind_of(gpu));
  asked.tf32 = options.tf32;
  asked.other_environment = options.other_environment && !options.profile_file.empty();
  asked.scratch_folder = options.scratch;
  asked.scratch_limit = options.scratch_limit;
  return asked;
}

/// Plans for --limit and the latent's shape. On a GPU, `host_limit_bytes` also bounds the host's memory.
void make_plan_for(const DecodeOptions& options, const Model& model, const Array& latent, const gpu::Gpu* gpu,
                   DecodeJob& job, int64_t host_limit_bytes = 0) {
  const planner::RequestOptions asked = request_for(options, model, latent, gpu);
  planner::PlanOptions wanted = asked.plan_options();
  wanted.limit_bytes = limit_in_bytes(options.limit, gpu);
  wanted.host_limit_bytes = host_limit_bytes;
  job.model = for_frames(model, asked.frames);
  job.plan = asked.plan(job.model, wanted);
  return_free_heap();  // return the search's heap memory, because the limit covers the whole process
}

ChosenRanks asked_ranks(const DecodeOptions& options, const Model& model, const Array& latent,
                        const RankCount& count) {
  if (options.limit == "auto" && count.ranks > 1)
    throw InputError("--limit: expected bytes for each of several ranks, found auto");
  planner::RequestOptions asked = request_for(options, model, latent, count.gpu);
  asked.scratch_folder.clear();  // with several ranks, scratch files hold only rows of the output
  planner::RankOptions ranks;
  ranks.ranks = std::to_string(count.ranks);
  ChosenRanks chosen{for_frames(model, asked.frames), {}};
  chosen.plan = planner::plan_ranks(asked, chosen.model, ranks, options.limit, asked.plan_options());
  return_free_heap();
  return chosen;
}

}  // namespace

void check_device(const std::optional<DeviceName>& device, const std::string& plan_file, DeviceKind planned) {
  if (!device || device->kind == planned) return;
  throw InputError("--device: " + plan_file + " is a plan for " + name_of(planned) + ", found " +
                   text_of(*device));
}

int64_t limit_in_bytes(const std::string& limit, const gpu::Gpu* gpu) {
  if (gpu != nullptr && limit == "auto") return limit_on_card(*gpu);
  return planner::limit_from(limit, kind_of(gpu));
}

std::string next_smaller_plan(const DecodeOptions& options, const Model& model, const DecodeJob& refused,
                              const gpu::Gpu& gpu) {
  DecodeOptions smaller = options;
  smaller.plan_file.clear();
  smaller.limit = "auto";
  smaller.dtype = name_of(refused.plan.request.dtype);
  smaller.tf32 = refused.plan.request.tf32.any() ? name_of(refused.plan.request.tf32) : "";
  try {
    DecodeJob job;
    make_plan_for(smaller, model, refused.latent, &gpu, job, refused.plan.host_limit_bytes);
    return "takes " + format_bytes(job.plan.predicted_peak_bytes) + ", predicted " +
           format_seconds(job.plan.predicted_seconds) + " instead of " +
           format_seconds(refused.plan.predicted_seconds);
  } catch (const std::exception& none) {  // the caller reports the refused plan in any case
    return std::string("found none: ") + none.what();
  }
}

void choose_plan(const DecodeOptions& options, const Model& model, const gpu::Gpu* gpu, DecodeJob& job) {
  if (options.plan_file.empty())
    make_plan_for(options, model, job.latent, gpu, job);
  else
    take_given_plan(options, model, job);
}

ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent,
                         const RankCount& count) {
  if (options.plan_file.empty()) return asked_ranks(options, model, latent, count);
  const PlanFile parsed(options.plan_file);
  ChosenRanks chosen{for_frames(model, parsed.request().frames), {}};
  chosen.plan = parsed.plans(chosen.model.graph);
  check_device(options.device, options.plan_file, chosen.plan.request.device);
  return chosen;
}

std::string upcast_note(const Model& model, const DecodeOptions& options) {
  return options.dtype.empty() ? "" : upcast_note(model, parse_dtype(options.dtype, "--dtype"));
}

}  // namespace headroom
