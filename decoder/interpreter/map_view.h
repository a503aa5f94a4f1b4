#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/base/axes.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// A row of pixels of one frame of one batch item.
struct Row {
  int64_t item = 0, t = 0, y = 0;
};

/// Layout of a region in memory. Rows of pixels, channels last, form blocks of equal height. Each block has
/// all frames of its rows, frame by frame. A tile is one block per batch item; a kept tensor has many.
struct MapView {
  Region region;  ///< positions present
  int64_t channels = 0;
  int64_t block_rows = 0;
  int64_t blocks_per_item = 0;
  std::vector<void*> blocks;  ///< item by item, top to bottom; null if not in memory
  Dtype dtype = Dtype::fp32;  ///< of the values in them

  /// Address of a pixel. The position must be present.
  void* place(const Row& row, int64_t x) const {
    const int64_t y = row.y - region.y.begin;
    const int64_t block = row.item * blocks_per_item + y / block_rows;
    const int64_t rows = (row.t - region.t.begin) * block_rows + y % block_rows;
    return static_cast<std::byte*>(blocks[static_cast<size_t>(block)]) +
           (rows * region.x.length() + (x - region.x.begin)) * channels * bytes_per_element(dtype);
  }
  /// Address of a pixel in a map of fp32, such as the latent or a tile on the CPU.
  float* at(const Row& row, int64_t x) const { return static_cast<float*>(place(row, x)); }
};

/// View of some frames and rows of a tile with one block per item. A part of the rows needs all frames.
MapView part_of(const MapView& tile, const Interval& frames, const Interval& rows);

/// The part of `region` that lies inside the picture.
Region inside(const Region& region, const Extent& picture);

}  // namespace headroom
