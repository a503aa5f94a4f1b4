#include "decoder/interpreter/staged_blocks.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/blocks.h"

namespace headroom {

StagedBlocks::StagedBlocks(const Graph& graph, const TensorUse& use, const Sizes& sizes, Device& device)
    : tensor_(use.tensor),
      block_rows_(use.block_rows),
      picture_(extent_of(graph.tensor(use.tensor), sizes.latent)),
      channels_(graph.tensor(use.tensor).channels),
      count_(block_count(graph, use, sizes)),
      frame_bytes_(use.block_rows * picture_.x * channels_ * bytes_per_element(sizes.dtype)),
      dtype_(sizes.dtype) {
  const int64_t bytes = kept_block_bytes(graph, use, sizes);
  for (int64_t i = 0; i < places(); ++i) places_[static_cast<size_t>(i)] = device.allocate(bytes, {});
}

int64_t StagedBlocks::places() const {
  return std::min(count_, kStagedBlocks);
}

BlockTransfers::Block StagedBlocks::fetched(int64_t item, int64_t block, int64_t frames,
                                            int64_t place) const {
  const int64_t position = item * count_ + block;
  return {.memory = places_[static_cast<size_t>(place)].get(),
          .bytes = frames * frame_bytes_,
          .tensor = tensor_,
          .position = position};
}

MapView StagedBlocks::view(int64_t block, int64_t place) const {
  const int64_t first = block * block_rows_;
  return {.region = {{0, picture_.t}, {first, std::min(picture_.y, first + block_rows_)}, {0, picture_.x}},
          .channels = channels_,
          .block_rows = block_rows_,
          .blocks_per_item = 1,
          .blocks = {places_[static_cast<size_t>(place)].get()},
          .dtype = dtype_};
}

}  // namespace headroom
