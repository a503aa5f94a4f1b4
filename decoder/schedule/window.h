#pragma once

#include <vector>

#include "decoder/schedule/blocks.h"

namespace headroom {

/// Blocks of keys or values in a lower tier that are on the device at one time: one in use, and one being
/// fetched.
constexpr int64_t kStagedBlocks = 2;

/// The blocks of one kept tensor that are on the device during a pass, band by band. Numbers count the blocks
/// of one batch item. While band b runs, these are on the device:
///
///     [first[b], before[b])   until the step that stores the tensor
///     [first[b], after[b])    from then on; the same if the pass does not write the tensor
///
/// Example: a tensor of 8 rows in 4 blocks of 2 rows. Pass 0 writes rows 0-2, 3-5 and 6-7 in three bands.
/// Pass 1 reads rows 0-3, 2-6 and 5-7 in three bands, and is the last to read the tensor.
///
///     pass, tier          first      before   after    fetched   blocks
///     0 (writes), device  0 0 0 0    0 2 3    2 3 4              the store of band b allocates
///                                                                [before[b], after[b])
///     0 (writes), lower   0 0 1 3    0 2 3    2 3 4              completed(b), the blocks whose last row
///                                                                band b writes, are copied to the lower tier
///                                                                during band b + 1 and freed after it
///     1 (reads), device   0 1 2 4    4 4 4    4 4 4              [first[b], first[b + 1]) is freed after
///                                                                band b. If a later pass reads the tensor,
///                                                                first is 0 0 0 0 and all blocks stay
///     1 (reads), lower    0 1 2 4    4 4 4    4 4 4    2 4 4     blocks before fetched[b] have arrived when
///                                                                band b begins. Those of band b + 1 arrive
///                                                                during band b, so `before` includes them
///
/// Staged tensors are keys and values in a lower tier. Every tile reads all of their blocks, so they arrive
/// two at a time: first is 0, before and after are kStagedBlocks, or 1 if there is only one block.
/// A pass that writes a tensor may also read it, at own positions. The window is then that of a written
/// tensor.
struct Window {
  TensorUse use;
  int32_t store_step = -1;       ///< the step that stores the tensor; -1: an earlier pass did
  int64_t block_bytes = 0;       ///< one block of all items; staged: of one item
  bool staged = false;           ///< in a lower tier, and every tile reads the whole tensor
  std::vector<int32_t> first;    ///< by band, with one more entry at the end
  std::vector<int32_t> before;   ///< by band
  std::vector<int32_t> after;    ///< by band
  std::vector<int32_t> fetched;  ///< by band; only for tensors read from a lower tier

  bool below_device() const { return use.tier != MemoryTier::device; }
  int64_t bytes_before_store(size_t band) const { return block_bytes * (before[band] - first[band]); }
  int64_t bytes_after_store(size_t band) const { return block_bytes * (after[band] - first[band]); }
  /// Blocks whose last rows band `band` writes.
  Interval completed(size_t band) const;
  /// Blocks that the store of band `band` acquires.
  Interval stored(size_t band) const { return {before[band], after[band]}; }
  /// Blocks fetched for band `band`: during the band before it, or before the first band.
  Interval fetched_for(size_t band) const;
  /// Blocks freed after band `band`. If the pass writes the tensor to a lower tier, these blocks are copied
  /// there while the band runs.
  Interval given_back(size_t band) const;
};

/// The step that stores the tensor in its own blocks, or -1.
int32_t store_step(const Pass& pass, TensorId tensor);

Window window_of(const Graph& graph, const Pass& pass, const TensorUse& use, const Sizes& sizes);

/// The windows of a pass, except for tensors that are written into another tensor's blocks.
std::vector<Window> windows_of(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes);

}  // namespace headroom
