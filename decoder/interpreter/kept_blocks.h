#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/interpreter/stream_state.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/stream_frames.h"
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

/// A kept tensor in memory: the blocks that are there now.
class KeptMap {
 public:
  /// Allocates `bytes` for the block of this number. The last copy of the pointer frees them.
  using Allocate = std::function<std::shared_ptr<void>(size_t number, int64_t bytes, const InSeries& series)>;

  /// `region` has the rows of `kept`.
  KeptMap(const KeptTensor& kept, const Region& region, int64_t channels, int64_t items, Dtype dtype,
          Allocate allocate);

  /// Allocates the blocks of every item that are not in memory yet.
  void acquire(const Interval& blocks);
  void release(const Interval& blocks);
  /// Updates the addresses of blocks that Device::move_blocks() moved.
  void follow(const std::map<const void*, void*>& moved);

  const MapView& view() const { return view_; }
  /// True if no block is in memory.
  bool empty() const;
  /// Some blocks of every item that are in memory.
  Interval present() const;

 private:
  MapView view_;
  std::vector<std::shared_ptr<void>> storage_;
  Allocate allocate_;
};

/// The kept tensors of one micro-batch. Allocates and frees their blocks as a pass sweeps over the rows.
/// Moves blocks between the device and other tiers. decoder/schedule/memory.h counts exactly these
/// allocations. Throws LimitExceeded naming the allocation, and DeviceError if a transfer failed.
class KeptBlocks {
 public:
  /// `transfers` is null if the plan keeps every tensor on the device. Consecutive micro-batches may share
  /// it.
  KeptBlocks(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
             BlockTransfers* transfers);
  ~KeptBlocks();
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  /// Begins a block of a stream, or the whole clip. Allocates the input, and returns its new frames, which
  /// the caller fills. `frames` must outlive the block.
  MapView begin_block(const BlockFrames& frames);
  /// Frees everything except the frames that the next block of a stream reads.
  void end_block();

  /// Writes or reads the frames that stay between two blocks. Throws InputError and LimitExceeded.
  void move_state(StreamState& state, const std::map<TensorId, Interval>& tails);

  /// Calls Device::move_blocks() and updates the addresses of moved blocks.
  void follow_moves();
  void begin_pass(size_t pass);
  /// Call before the steps of a band of tiles. On return its input rows are on the device, and transfers of
  /// the next band's rows are queued.
  void begin_band(size_t band);
  /// Call before the step that writes this band's rows of `tensor`.
  void before_store(TensorId tensor);
  void end_band();
  void end_pass();

  /// Blocks that are not in memory are null.
  const MapView& view(TensorId tensor) const { return maps_.at(tensor).view(); }

  /// True if the pass reads the tensor block by block: keys or values in a tier other than the device.
  bool staged(TensorId tensor) const { return staged_.contains(tensor); }
  /// A block of staged keys and the matching block of values, for the queries of one frame of one item.
  struct StagedKeys {
    int64_t item = 0, frame = 0;
    MapView keys, values;  ///< of one item
    bool first = true, last = true;
    int64_t number = 0, of = 1;  ///< index of this call, and number of calls
  };
  /// Calls attend() with all blocks in turn, for the queries of each frame in `frames` of every item.
  /// `reads(frame)` is the end of the key frames that these queries attend to. Blocks lack later frames.
  void for_each_block(TensorId keys, TensorId values, const Interval& frames,
                      const std::function<int64_t(int64_t frame)>& reads,
                      const std::function<void(const StagedKeys&)>& attend);

 private:
  struct Leaving {
    size_t band;  ///< that completed the blocks
    Interval blocks;
    BlockTransfers::Ticket written;
  };
  /// A tensor that this pass moves.
  struct Moving {
    Window window;
    KeptMap* map;
    std::deque<Leaving> leaving{};  ///< written blocks in transfer to the tensor's tier
    BlockTransfers::Ticket last_fetch = 0;
  };

  KeptMap map_of(const KeptTensor& kept, const Interval& frames, KeptMap::Allocate allocate) const;
  KeptMap map_of(const KeptTensor& kept, const Interval& frames) const;
  KeptMap tail_of(const KeptTensor& kept, const Interval& frames) const;
  KeptTensor input() const;
  void begin_tensor(const KeptTensor& entry);
  // The last frames of a kept tensor wait between blocks of a stream in maps of their own. A block of rows
  // leaves them when its tensor's block is acquired, and goes back before that one is released.
  void acquire(TensorId tensor, const Interval& blocks);
  void release(TensorId tensor, const Interval& blocks);
  void restore_tail(TensorId tensor, const Interval& blocks);
  void save_tail(TensorId tensor, const Interval& blocks);
  void copy_rows(const KeptMap& from, const KeptMap& to, const Interval& blocks);

  void stage(const TensorUse& use);
  void let_go(Moving& moving, size_t bands_done);
  void fetch(Moving& moving, size_t band);
  std::vector<BlockTransfers::Block> placed(const Moving& moving, const Interval& blocks) const;
  const Pass& pass() const { return plan_.passes[pass_]; }

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  Device& device_;
  BlockTransfers* transfers_;
  const BlockFrames* frames_ = nullptr;
  std::map<TensorId, KeptMap> maps_;
  std::map<TensorId, KeptMap> tails_, next_tails_;  ///< of the block before, and for the next one
  std::vector<Moving> moving_;                      ///< in the pass that runs
  std::map<TensorId, StagedBlocks> staged_;         ///< in the pass that runs
  size_t pass_ = 0, band_ = 0;
};

}  // namespace headroom
