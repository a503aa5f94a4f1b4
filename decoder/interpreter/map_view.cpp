#include "decoder/interpreter/map_view.h"

namespace headroom {

Region inside(const Region& region, const Extent& picture) {
  return per_axis(
      [](const Interval& a, int64_t length) {
        return intersect(a, {0, length});
      },
      region, picture);
}

MapView part_of(const MapView& tile, const Interval& frames, const Interval& rows) {
  MapView part = tile;
  part.region.t = frames;
  part.region.y = rows;
  const int64_t skipped_rows =
      (frames.begin - tile.region.t.begin) * tile.block_rows + rows.begin - tile.region.y.begin;
  const int64_t skipped = skipped_rows * tile.region.x.length() * tile.channels;
  for (void*& block : part.blocks)
    block = static_cast<std::byte*>(block) + skipped * bytes_per_element(tile.dtype);
  return part;
}

}  // namespace headroom
