#pragma once

#include <cstdint>

#include "decoder/interpreter/stream_memory.h"
#include "planner/answer/planner.h"

namespace headroom::planner {

/// The question for streams of this size: a clip of one latent frame more than a block has, and weights that
/// stay. Throws InputError if the model cannot run block by block, or if a block has no frame.
Question stream_question(const Model& model, Question of_size, int64_t block);

/// stream_memory() of decoder/interpreter, or of the device's dry run if its allocations are placed.
StreamMemory stream_memory(const Model& model, const Plan& plan, int64_t block, const CostModel& costs);

/// The streams of a question.
struct StreamRequest {
  int64_t block = 1;    ///< latent frames
  int64_t streams = 1;  ///< streams that the limit covers together
  int64_t limit_bytes = kNoLimit;
};

/// The fastest plan that was found under which so many streams fit the limit. `planner` is for a
/// stream_question(). Throws DoesNotFit with a limit that suffices.
StreamPlan plan_stream(const Planner& planner, const StreamRequest& request);

}  // namespace headroom::planner
