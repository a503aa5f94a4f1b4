#pragma once

#include "decoder/runtime/map_view.h"
#include "decoder/runtime/tile.h"

namespace headroom {

/// softmax(q kᵀ / sqrt(C)) v for a tile of queries [N, Y, X, C] against whole keys and values, which may lie
/// in many blocks: each block gives a partial result with its log-sum-exp, merged with the rescaling of
/// online softmax (Milakov and Gimelshein 2018; Dao et al. 2022).
Tile attend(const Tile& queries, const MapView& keys, const MapView& values, int64_t items);

}  // namespace headroom
