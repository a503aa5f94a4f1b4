#pragma once

#include "decoder/graph/graph.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// softmax(q kᵀ / sqrt(C)) v, frame by frame, for a tile of queries against whole keys and values, which may
/// lie in many blocks: each block gives a partial result with its log-sum-exp, merged with the rescaling of
/// online softmax (Milakov and Gimelshein 2018; Dao et al. 2022). Tiles are one block per item; `target` has
/// the rows and columns of `queries`, and frames that it has too, all of them where frames are interleaved.
void attend(const MapView& queries, const MapView& keys, const MapView& values, AttentionFrames frames,
            const MapView& target, int64_t items);

}  // namespace headroom
