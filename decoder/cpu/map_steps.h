#pragma once

#include "decoder/interpreter/map_view.h"

namespace headroom {

// These functions work on `items` batch items with all threads. A view has one block list for all items.

/// Copies a region that both hold. Either may be stored in 16 bits.
void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Rounds a tile to the values that storing it in this dtype and reading it back would give.
void round_tile(const MapView& tile, Dtype dtype, int64_t items);
/// Applies the activation to a region of a tile, in place.
void activate_region(const MapView& tile, Activation activation, const Region& region, int64_t items);
/// Fills a tile outside the picture: with zeros, or with copies of its positions inside.
void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items);

}  // namespace headroom
