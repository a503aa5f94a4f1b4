#include "decoder/gpu/gpu_steps.h"

#include <algorithm>

#include "decoder/gpu/calls/plain_view.h"

namespace headroom {

gpu::View GpuSteps::view_of(const MapView& map, int64_t item) const {
  const auto first = static_cast<size_t>(item * map.blocks_per_item);
  // A single block is its own base, because a view of some frames of a tile may be unaligned.
  const bool single = map.blocks_per_item == 1;
  gpu::View view =
      plain_view(single ? map.blocks[first] : memory.base(), map.region, map.channels, map.dtype);
  view.block_rows = static_cast<int32_t>(std::max<int64_t>(1, map.block_rows));
  view.blocks = static_cast<int32_t>(map.blocks_per_item);
  for (int64_t b = 0; b < map.blocks_per_item; ++b) {
    const auto i = static_cast<size_t>(b);
    const auto* block = static_cast<const std::byte*>(map.blocks[first + i]);
    view.block_units[i] =
        block == nullptr ? gpu::kAbsent : static_cast<uint32_t>((block - view.base) / gpu::kBlockUnit);
  }
  return view;
}

}  // namespace headroom
