#pragma once

#include <array>
#include <memory>

#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/lowering/window.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// A kept tensor below the device of which every tile of a pass reads all blocks, one after the
/// other: keys or values. Its blocks come in turn to places that are on the device throughout.
class StagedBlocks {
 public:
  /// Takes the places. Throws LimitExceeded.
  StagedBlocks(const Graph& graph, const TensorUse& use, const Sizes& sizes, Device& device);

  int64_t blocks_per_item() const { return count_; }
  /// Blocks that are on the device at one time.
  int64_t places() const;
  /// The transfer that brings the first `frames` frames of a block to `place`.
  BlockTransfers::Block fetched(int64_t item, int64_t block, int64_t frames, int64_t place) const;
  /// A block in its place, as a view of one item with all frames, the last of which may not be there.
  MapView view(int64_t block, int64_t place) const;

 private:
  TensorId tensor_;
  int64_t block_rows_;
  Extent picture_;
  int64_t channels_, count_, frame_bytes_;
  Dtype dtype_;
  std::array<std::shared_ptr<void>, kStagedBlocks> places_;
};

}  // namespace headroom
