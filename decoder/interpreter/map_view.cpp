#include "decoder/interpreter/map_view.h"

namespace headroom {

Region inside(const Region& region, const Extent& picture) {
  return per_axis(
      [](const Interval& a, int64_t length) {
        return intersect(a, {0, length});
      },
      region, picture);
}

MapView frames_of(const MapView& tile, const Interval& frames) {
  MapView part = tile;
  part.region.t = frames;
  const int64_t skipped =
      (frames.begin - tile.region.t.begin) * tile.block_rows * tile.region.x.length() * tile.channels;
  for (void*& block : part.blocks)
    block = static_cast<std::byte*>(block) + skipped * bytes_per_element(tile.dtype);
  return part;
}

}  // namespace headroom
