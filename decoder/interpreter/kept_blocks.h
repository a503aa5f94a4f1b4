#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/interpreter/staged_blocks.h"
#include "decoder/lowering/window.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The kept tensors of one micro-batch. Takes their blocks from the device and hands
/// them back as the sweep of a pass moves on, and moves those that live below the device there and back,
/// exactly as decoder/lowering/memory.h counts them. Throws LimitExceeded naming what was to be taken,
/// DeviceError where a transfer failed.
class KeptBlocks {
 public:
  /// `transfers` is null where the plan keeps nothing below the device; it may be shared by
  /// micro-batches that run one after another.
  KeptBlocks(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
             BlockTransfers* transfers);
  ~KeptBlocks();
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  /// The latent in memory, to be filled.
  const MapView& add_latent();

  /// Goes along with what the device moves before a pass begins.
  void follow_moves();
  void begin_pass(size_t pass);
  /// Before the steps of a band of tiles: afterwards the rows that they read are there, and those of the next
  /// band are on their way.
  void begin_band(size_t band);
  /// Before the step that writes this band's rows of `tensor`.
  void before_store(TensorId tensor);
  void end_band();
  void end_pass();

  /// Blocks that are not there are null.
  const MapView& view(TensorId tensor) const { return maps_.at(tensor).view(); }

  /// True if the pass reads the tensor block by block: keys or values in a tier other than the device.
  bool staged(TensorId tensor) const { return staged_.contains(tensor); }
  /// A block of staged keys and the same one of their values, for the queries of one frame of one item.
  struct StagedKeys {
    int64_t item = 0, frame = 0;
    MapView keys, values;  ///< of one item
    bool first = true, last = true;
    int64_t number = 0, of = 1;  ///< of the calls
  };
  /// Calls attend() for each of `frames` of queries of every item, with all blocks in turn. `reads(frame)`
  /// says before which frame the keys end that count; later ones are not in the blocks.
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
    std::deque<Leaving> leaving{};  ///< of a tensor on its way to its tier
    int32_t fetched = 0;            ///< blocks before this one have been sent for
    BlockTransfers::Ticket last_fetch = 0;
  };

  void stage(const TensorUse& use);
  void let_go(Moving& moving, size_t bands_done);
  void fetch(Moving& moving, size_t band);
  std::vector<BlockTransfers::Block> placed(const Moving& moving, const Interval& blocks) const;
  const Pass& pass() const { return plan_.passes[pass_]; }

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  Device& device_;
  const KeptMap::Allocate allocate_;
  BlockTransfers* transfers_;
  std::map<TensorId, KeptMap> maps_;
  std::vector<Moving> moving_;               ///< in the pass that runs
  std::map<TensorId, StagedBlocks> staged_;  ///< in the pass that runs
  size_t pass_ = 0, band_ = 0;
};

}  // namespace headroom
