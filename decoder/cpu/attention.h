#pragma once

#include "decoder/cpu/call_share.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Inputs of attention: a tile of queries with one block for each item, and all keys and values.
struct AttentionInputs {
  const MapView& queries;
  const MapView& keys;
  const MapView& values;
};

/// Computes softmax(q kᵀ) v on all threads, into a tile with the queries' rows and columns. Each
/// frame attends to its attended_frames(). Interleaved frames are gathered first. Keys and values may be
/// stored in 16 bits; all else is fp32. Keys are read frame by frame, in chunks that depend
/// neither on the block layout nor on the queries. So results do not depend on them either. Allocates
/// attention_work() of the last frame from the pool, plus two tiles of one frame if frames are interleaved.
/// Throws LimitExceeded.
void attend(LimitedPool& pool, const AttentionInputs& inputs, AttentionFrames frames, const MapView& target,
            int64_t items, const ToldShare& told = {});

}  // namespace headroom
