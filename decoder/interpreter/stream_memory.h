#pragma once

#include <cstdint>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/memory.h"

namespace headroom {

/// Memory of a stream, counted before its first block.
struct StreamMemory {
  int64_t weights_bytes = 0;  ///< packed weights that stay; streams of one model share them
  int64_t state_bytes = 0;    ///< the most that stays between two blocks
  int64_t peak_bytes = 0;     ///< the most at any time: weights, state and work
  int64_t reserve_bytes = 0;  ///< taken beside these, by libraries and by the frames that a block returns
  int64_t delay_frames = 0;   ///< decoder/schedule/stream_frames.h
  int64_t work_bytes() const { return peak_bytes - weights_bytes - state_bytes; }
};

/// How streams of one size run: a plan, the latent frames of a block, and the memory. The plan's own
/// predictions are those of a whole clip of a little more than a block.
struct StreamPlan {
  Plan plan;
  int64_t block = 1;
  StreamMemory memory{};
  int64_t streams = 1;  ///< that the plan was made for
  /// The most that this many streams take together. They share weights and take turns.
  int64_t peak_bytes(int64_t together = 1) const {
    return memory.peak_bytes + memory.reserve_bytes + (together - 1) * memory.state_bytes;
  }
};

/// Runs a stream of blocks of `block` latent frames on a device that only counts, until blocks repeat, and
/// ends it. The counts are those of a real stream with as many threads as `memory` assumes. Smaller blocks
/// take no more. Throws InputError like Stream.
StreamMemory stream_memory(const Model& model, const Plan& plan, int64_t block, const MemoryModel& memory);

}  // namespace headroom
