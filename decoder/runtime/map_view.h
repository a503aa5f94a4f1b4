#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/axes.h"

namespace headroom {

/// Where the values of a region lie: rows of pixels, channels last, in blocks of equal height. A tile is one
/// block per batch item; a kept tensor has many. Pictures only (t = 1).
struct MapView {
  Region region;  ///< positions present
  int64_t channels = 0;
  int64_t block_rows = 0;
  int64_t blocks_per_item = 0;
  std::vector<float*> blocks;  ///< item by item, top to bottom; null where not in memory

  /// The pixel at row y, column x of an item. The position must be present.
  float* at(int64_t item, int64_t y, int64_t x) const {
    const int64_t row = y - region.y.begin;
    const int64_t block = item * blocks_per_item + row / block_rows;
    const int64_t columns = region.x.length();
    return blocks[static_cast<size_t>(block)] +
           ((row % block_rows) * columns + (x - region.x.begin)) * channels;
  }
};

/// The part of `region` that lies inside the picture.
Region inside(const Region& region, const Extent& picture);

// What follows works on `items` batch items with all threads. Views hold one block list for all items.

/// Copies `source` to `target` over target's region, zero outside the picture.
void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items);
/// Copies a region that both hold.
void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Adds a region of `source` onto `target`.
void add_region(const MapView& source, const MapView& target, const Region& region, int64_t items);
/// Nearest upsampling into target's region; positions outside the picture (target's own extent) are zero.
void upsample(const MapView& source, const MapView& target, const Axes<int32_t>& factor,
              const Extent& picture, int64_t items);

}  // namespace headroom
