#include "decoder/cpu/tile.h"

namespace headroom {

MapView Tile::view() const {
  MapView view{.region = region,
               .channels = channels,
               .block_rows = region.y.length(),
               .blocks_per_item = 1,
               .blocks = {}};
  const int64_t item_values = positions(extent_of(region)) * channels;
  for (int64_t item = 0; item < items; ++item) view.blocks.push_back(values.get() + item * item_values);
  return view;
}

Tile make_tile(LimitedPool& pool, const Region& region, int64_t channels, int64_t items) {
  Tile tile{region, channels, items, nullptr};
  tile.values = pool.take_floats(tile.value_count());
  return tile;
}

}  // namespace headroom
