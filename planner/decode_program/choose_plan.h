#pragma once

#include <string>

#include "decoder/files/array.h"
#include "planner/decode_program/options.h"
#include "planner/run/job.h"

namespace headroom {

/// The options as a question, without the limit. `gpu`: null for the CPU.
planner::Question question_of(const SharedOptions& options, const Model& model,
                              const planner::PictureSize& picture, const gpu::Gpu* gpu);

/// Adds the task of the options to `work` and returns its index: the plan of --plan, or the question for
/// --limit and a picture of this size. The first task sets the model of the work, `model` being the one for
/// any frames. Later tasks ask the first one's question for other sizes, with as many frames. Throws
/// InputError.
size_t add_task(const SharedOptions& options, const Model& model, const planner::PictureSize& picture,
                Work& work);

/// Size of the picture of a latent. `option` names the latent in messages.
planner::PictureSize picture_of(const Model& model, const Array& latent, const std::string& option);

/// A plan for several ranks, and its model.
struct ChosenRanks {
  Model model;
  Plans plan;
};
/// Returns --plan's plan for several ranks, or makes one for --limit and `ranks` ranks, on a GPU if `gpu` is
/// not null. Throws InputError, also for `--limit auto` with several ranks, because each rank would find its
/// own limit.
ChosenRanks choose_ranks(const DecodeOptions& options, const Model& model, const Array& latent, int32_t ranks,
                         const gpu::Gpu* gpu);

/// A note to the user if the model does not run in --dtype. Otherwise empty.
std::string upcast_note(const Model& model, const SharedOptions& options);

}  // namespace headroom
