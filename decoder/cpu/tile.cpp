#include "decoder/cpu/tile.h"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace headroom {

MapView Tile::view() const {
  MapView view{.region = region,
               .channels = values.size(4),
               .block_rows = values.size(2),
               .blocks_per_item = 1,
               .blocks = {}};
  const int64_t item_values = values.numel() / std::max<int64_t>(1, values.size(0));
  for (int64_t item = 0; item < values.size(0); ++item) {
    view.blocks.push_back(values.data_ptr<float>() + item * item_values);
  }
  return view;
}

Tile make_tile(const Region& region, int64_t channels, int64_t items) {
  return {region,
          at::empty({items, region.t.length(), region.y.length(), region.x.length(), channels}, at::kFloat)};
}

std::shared_ptr<void> tensor_memory(int64_t bytes) {
  const at::Tensor memory = at::empty({bytes}, at::kByte);
  return {memory.data_ptr(), [memory](void*) {}};
}

}  // namespace headroom
