#pragma once

#include "decoder/cpu/attention.h"
#include "decoder/cpu/tile.h"

namespace headroom::testing {

/// What attention makes of a tile of queries, in a tile of its own.
inline Tile attended(const Tile& queries, const MapView& keys, const MapView& values, int64_t items,
                     AttentionFrames frames = AttentionFrames::each) {
  Tile result = make_tile(queries.region, values.channels, items);
  attend(queries.view(), keys, values, frames, result.view(), items);
  return result;
}

}  // namespace headroom::testing
