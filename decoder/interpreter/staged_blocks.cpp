#include "decoder/interpreter/staged_blocks.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/blocks.h"

namespace headroom {

StagedBlocks::StagedBlocks(const Graph& graph, const KeptTensor& kept, const Sizes& sizes, Device& device)
    : kept_(kept),
      picture_(extent_of(graph.tensor(kept.tensor), sizes.latent)),
      channels_(graph.tensor(kept.tensor).channels),
      count_(block_count(graph, kept, sizes)),
      frame_bytes_(kept.block_rows * picture_.x * channels_ * bytes_per_element(sizes.dtype)),
      dtype_(sizes.dtype) {
  const int64_t bytes = kept_block_bytes(graph, kept, sizes);
  for (int64_t i = 0; i < places(); ++i) places_[static_cast<size_t>(i)] = device.allocate(bytes, {});
}

int64_t StagedBlocks::places() const {
  return std::min(count_, kStagedBlocks);
}

BlockTransfers::Block StagedBlocks::fetched(int64_t item, int64_t block, int64_t frames,
                                            int64_t place) const {
  const int64_t position = item * count_ + block;
  return {.slot = kept_.blocks[static_cast<size_t>(position)],
          .memory = places_[static_cast<size_t>(place)].get(),
          .bytes = frames * frame_bytes_,
          .tensor = kept_.tensor,
          .position = position};
}

MapView StagedBlocks::view(int64_t block, int64_t place) const {
  const int64_t first = block * kept_.block_rows;
  return {
      .region = {{0, picture_.t}, {first, std::min(picture_.y, first + kept_.block_rows)}, {0, picture_.x}},
      .channels = channels_,
      .block_rows = kept_.block_rows,
      .blocks_per_item = 1,
      .blocks = {places_[static_cast<size_t>(place)].get()},
      .dtype = dtype_};
}

}  // namespace headroom
