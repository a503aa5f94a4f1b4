#pragma once

#include <deque>
#include <map>
#include <vector>

#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/materialised_map.h"
#include "decoder/lowering/block_windows.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The materialised tensors of one micro-batch. Takes their blocks from the device and hands
/// them back as the sweep of a pass moves on, and moves those that live below the device there and back,
/// exactly as decoder/lowering/memory.h counts them. Throws LimitExceeded naming what was to be taken,
/// DeviceError where a transfer failed.
class MaterialisedBlocks {
 public:
  /// `transfers` is null where the plan materialises nothing below the device; it may be shared by
  /// micro-batches that run one after another.
  MaterialisedBlocks(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
                     BlockTransfers* transfers);
  ~MaterialisedBlocks();
  MaterialisedBlocks(const MaterialisedBlocks&) = delete;
  MaterialisedBlocks& operator=(const MaterialisedBlocks&) = delete;

  /// The latent in memory, to be filled.
  const MapView& add_latent();

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

 private:
  struct Leaving {
    size_t band;  ///< that completed the blocks
    Interval blocks;
    BlockTransfers::Ticket written;
  };
  /// A tensor that this pass moves.
  struct Moving {
    const Materialised* materialised;
    MaterialisedMap* map;
    RowReaders readers;
    std::deque<Leaving> leaving{};  ///< of a tensor on its way to the scratch file
    int64_t fetched = 0;            ///< blocks before this one have been sent for
    BlockTransfers::Ticket last_fetch = 0;
  };

  bool written_in_pass(const Materialised& materialised) const {
    return materialised.first_pass == static_cast<int32_t>(pass_);
  }
  bool leaves_in_pass(const Materialised& materialised) const {
    return materialised.last_pass == static_cast<int32_t>(pass_);
  }
  void let_go(Moving& moving, size_t bands_done);
  void fetch(Moving& moving, size_t band);
  std::vector<BlockTransfers::Block> placed(const Moving& moving, const Interval& blocks) const;
  const Pass& pass() const { return plan_.passes[pass_]; }

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  const MaterialisedMap::Allocate allocate_;
  BlockTransfers* transfers_;
  std::map<TensorId, MaterialisedMap> maps_;
  std::vector<Moving> moving_;  ///< in the pass that runs
  size_t pass_ = 0, band_ = 0;
};

}  // namespace headroom
