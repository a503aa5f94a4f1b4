#pragma once

#include "decoder/cpu/limited_pool.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// What attention reads: a tile of queries, one block for each item; keys and values whole.
struct AttentionInputs {
  const MapView& queries;
  const MapView& keys;
  const MapView& values;
};

/// softmax(q kᵀ / √channels) v, of each frame by itself or of interleaved frames (AttentionFrames), with all
/// threads, into a tile of the queries' rows and columns. Keys and values may be stored in 16 bits; all else
/// is fp32. Chunks of keys do not depend on how they lie in blocks, so that results do not either. Takes
/// attention_work() from the pool, and where frames are interleaved as much again as two tiles of one frame.
/// Throws LimitExceeded.
void attend(LimitedPool& pool, const AttentionInputs& inputs, AttentionFrames frames, const MapView& target,
            int64_t items);

}  // namespace headroom
