#pragma once

#include <string>

#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/decode_program/decode_job.h"
#include "planner/decode_program/options.h"

namespace headroom {

/// Sets the job's plan and model. The plan is the one of --plan, or a new one for --limit and the latent's
/// shape. A new plan is for `gpu`, or for the CPU if `gpu` is null. Throws InputError, DoesNotFit,
/// DeviceError.
void choose_plan(const DecodeOptions& options, const Model& model, const gpu::Gpu* gpu, DecodeJob& job);

/// Throws InputError if --device, where it is given, is of another kind than the plan's device.
void check_device(const std::optional<DeviceName>& device, const std::string& plan_file, DeviceKind planned);

/// Limit in bytes from --limit. On a GPU, `auto` is its free memory now.
int64_t limit_in_bytes(const std::string& limit, const gpu::Gpu* gpu);

/// A plan for several ranks, and its model.
struct ChosenRanks {
  Model model;
  Plans plan;
};
/// Number of ranks, and this rank's GPU. Null: ranks decode on the CPU.
struct RankCount {
  int32_t ranks = 1;
  const gpu::Gpu* gpu = nullptr;
};
/// Returns --plan's plan for several ranks, or makes one for --limit and `count.ranks` ranks. Throws
/// InputError, also for `--limit auto` with several ranks, because each rank would find its own limit.
ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent,
                         const RankCount& count);

/// Plans again for the GPU memory that is free now, which `refused` exceeds. Returns the second half of a
/// message: the new plan's memory and time, or why there is none. It does not throw planning errors; they
/// become part of the text.
std::string next_smaller_plan(const DecodeOptions& options, const Model& model, const DecodeJob& refused,
                              const gpu::Gpu& gpu);

/// A note to the user if the model does not decode in --dtype. Otherwise empty.
std::string upcast_note(const Model& model, const DecodeOptions& options);

}  // namespace headroom
