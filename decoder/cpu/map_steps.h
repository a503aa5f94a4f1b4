#pragma once

#include "decoder/interpreter/map_view.h"

namespace headroom {

// These functions work on `items` batch items with all threads. A view has one block list for all items.

// Sources and targets may be stored in 16 bits unless the function says otherwise.

/// Copies `source` to a tile over its region, zero outside the picture.
void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items);
/// Copies a region that both hold.
void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Adds a region of `source` onto `target` and applies the activation, in fp32. A 16-bit target is rounded
/// once.
void add_region(const MapView& source, const MapView& target, Activation activation, const Region& region,
                int64_t items);
/// Rounds a tile to the values that storing it in this dtype and reading it back would give.
void round_tile(const MapView& tile, Dtype dtype, int64_t items);
/// Nearest upsampling into a tile's region; positions outside the picture (target's own extent) are zero.
void upsample(const MapView& source, const MapView& target, const Axes<int32_t>& factor,
              const Extent& picture, int64_t items);
/// Moves source channels to frames, rows and columns of the target. Source channels are repeated if there are
/// too few. Pixel p of the P of target channel c is channel (c * P + p) / repeats of the source.
void depth_to_space(const Op& op, const MapView& source, const MapView& target, const Region& region,
                    int64_t items);
/// Multiplies the first half of the source's channels by silu of the second half.
void gate(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Applies the activation to a region of a tile, in place.
void activate(const MapView& tile, Activation activation, const Region& region, int64_t items);
/// Fills a tile outside the picture: with zeros, or with copies of its positions inside.
void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items);

}  // namespace headroom
