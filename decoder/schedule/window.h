#pragma once

#include <vector>

#include "decoder/schedule/tensor_use.h"

namespace headroom {

/// Blocks of keys or values in a lower tier that are on the device at one time: one in use, and one being
/// fetched.
constexpr int64_t kStagedBlocks = 2;

/// The blocks of one kept tensor that are on the device during a pass, band by band. Numbers count the blocks
/// of one batch item. While band b runs, these are on the device:
///
///     [first[b], before[b])   until the step that stores the tensor
///     [first[b], after[b])    from then on; equal where the pass does not write the tensor
///
///   device tier      written: the store of band b takes [before[b], after[b])
///                    leaves: [first[b], first[b + 1]) is given back after band b
///                    else: all blocks stay
///   tiers below it   written: completed(b) leaves for its tier after band b, and is on the device until the
///                    next band is done
///                    read: blocks up to fetched[b] have arrived when band b begins; those of the next band
///                    are fetched meanwhile
///                    staged: every tile reads all keys and values, so they come two blocks at a time
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
  /// Blocks fetched for band `band`, during the band before it or before the first band.
  Interval fetched_for(size_t band) const;
  /// Blocks freed after band `band`. Written blocks of a lower tier are being copied to it while the band
  /// runs.
  Interval given_back(size_t band) const;
};

/// The step that stores the tensor in its own blocks, or -1.
int32_t store_step(const Pass& pass, TensorId tensor);

Window window_of(const Graph& graph, const Pass& pass, const TensorUse& use, const Sizes& sizes);

/// The windows of a pass, except for tensors that are written into another tensor's blocks.
std::vector<Window> windows_of(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes);

}  // namespace headroom
