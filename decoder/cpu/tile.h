#pragma once

#include <memory>

#include "decoder/cpu/limited_pool.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// One tile of all items of a micro-batch: values [items, frames, rows, columns, channels], contiguous, in
/// fp32.
struct Tile {
  Region region;
  int64_t channels = 0, items = 0;
  std::shared_ptr<float> values;

  bool empty() const { return values == nullptr; }
  int64_t value_count() const { return items * positions(extent_of(region)) * channels; }
  MapView view() const;
};

/// Allocates a tile. Its values are uninitialised. Throws LimitExceeded.
Tile make_tile(LimitedPool& pool, const Region& region, int64_t channels, int64_t items);

}  // namespace headroom
