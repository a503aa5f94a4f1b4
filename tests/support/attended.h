#pragma once

#include "decoder/cpu/attention.h"
#include "decoder/cpu/tile.h"

namespace headroom::testing {

/// Runs attention for a tile of queries and returns the result as a new tile.
inline Tile attended(LimitedPool& pool, const Tile& queries, const MapView& keys, const MapView& values,
                     AttentionFrames frames = AttentionFrames::each) {
  Tile result = make_tile(pool, queries.region, values.channels, queries.items);
  attend(pool, {queries.view(), keys, values}, frames, result.view(), queries.items);
  return result;
}

}  // namespace headroom::testing
