#pragma once

#include <string>

#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/program/decode_job.h"
#include "decoder/program/options.h"

namespace headroom {

/// Gives the job its plan, and the model of that: the plan of --plan, or one that is made for --limit and a
/// latent of the job's shape, on `gpu`, or on the CPU where it is null. Throws InputError, DoesNotFit,
/// DeviceError.
void choose_plan(const DecodeOptions& options, const Model& model, const gpu::Gpu* gpu, DecodeJob& job);

/// A plan for several ranks, and the model that it is of.
struct ChosenRanks {
  Model model;
  RankedPlan plan;
};
/// How many, and the GPU of each or null.
struct RankCount {
  int32_t ranks = 1;
  const gpu::Gpu* gpu = nullptr;
};
/// The plan of --plan for several ranks, or one that is made for --limit and so many. Throws
/// InputError, also where each of several would have to find its own limit.
ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent,
                         const RankCount& count);

/// Of the plan to run in place of one whose memory the GPU does not have now: what it takes, as half a
/// sentence for people, or why none was found. Throws nothing.
std::string next_smaller_plan(const DecodeOptions& options, const Model& model, const DecodeJob& refused,
                              const gpu::Gpu& gpu);

/// A line for people where --dtype asks for what this model does not decode in; otherwise empty.
std::string upcast_note(const Model& model, const DecodeOptions& options);

}  // namespace headroom
