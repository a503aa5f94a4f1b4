#pragma once

#include <array>
#include <memory>

#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/window.h"

namespace headroom {

/// Keys or values that are kept in another tier. Every tile of a pass reads all their blocks in turn. The
/// blocks are copied one after another into a few places, which stay allocated on the device.
class StagedBlocks {
 public:
  /// Allocates the places. Throws LimitExceeded.
  StagedBlocks(const Graph& graph, const TensorUse& use, const Sizes& sizes, Device& device);

  int64_t blocks_per_item() const { return count_; }
  /// Blocks that are on the device at one time.
  int64_t places() const;
  /// The transfer that brings the first `frames` frames of a block to `place`.
  BlockTransfers::Block fetched(int64_t item, int64_t block, int64_t frames, int64_t place) const;
  /// View of a block in its place: one item with all frames. The last frames may not have been fetched.
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
