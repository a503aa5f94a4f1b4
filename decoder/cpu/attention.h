#pragma once

#include "decoder/cpu/call_share.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/lowering/attention.h"

namespace headroom {

/// Inputs of attention: a tile of queries with one block for each item, and all keys and values.
struct AttentionInputs {
  const MapView& queries;
  const MapView& keys;
  const MapView& values;
};

/// softmax(q kᵀ / √channels) v of each frame, by itself or with all before it or of interleaved frames
/// (AttentionFrames), with all threads, into a tile of the queries' rows and columns. Keys and values may be
/// stored in 16 bits; all else is fp32. Keys go by frame after frame in chunks that do not depend on how they
/// lie in blocks, nor on which queries there are, so that results do not either. Takes attention_work() of
/// the last frame from the pool, and where frames are interleaved as much again as two tiles of one frame.
/// Throws LimitExceeded.
void attend(LimitedPool& pool, const AttentionInputs& inputs, AttentionFrames frames, const MapView& target,
            int64_t items, const ToldShare& told = {});

/// One part of the keys. `workspace` has work.floats() and stays as it is from the first part to the last;
/// the target's positions hold what was summed up so far. Not where frames are interleaved.
void attend_part(const AttentionWork& work, float* workspace, const AttentionPart& part,
                 const ToldShare& told = {});

}  // namespace headroom
