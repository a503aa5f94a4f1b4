#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// Moves blocks of kept tensors between the device and another memory tier, in the background and in queue
/// order. Leave a block's memory unchanged until wait() has covered its transfer. Not thread-safe: call it
/// from one thread.
class BlockTransfers {
 public:
  struct Block {
    void* memory = nullptr;
    int64_t bytes = 0;  ///< from the block's start; a read may stop short of its end
    TensorId tensor{-1};
    int64_t position = 0;  ///< among the tensor's blocks, item by item
  };
  /// Identifies a queued transfer and all transfers before it.
  using Ticket = int64_t;

  virtual ~BlockTransfers() = default;

  virtual Ticket queue_write(const std::vector<Block>& blocks) = 0;
  virtual Ticket queue_read(const std::vector<Block>& blocks) = 0;
  /// Later work on the device finds all transfers up to `ticket` done. Throws the DeviceError of the first
  /// transfer that failed.
  virtual void wait(Ticket ticket) = 0;
  /// Drops transfers that have not begun and returns when none is running.
  virtual void abandon() noexcept = 0;
};

}  // namespace headroom
