#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// Moves blocks of kept tensors between the device and a tier below it, in the background and in the
/// order in which they are queued. A block's memory must stay as it is until its transfer has been waited
/// for. To be called from one thread.
class BlockTransfers {
 public:
  struct Block {
    void* memory = nullptr;
    int64_t bytes = 0;  ///< from the block's beginning on: all, or of what is read the first
    TensorId tensor{-1};
    int64_t position = 0;  ///< among the tensor's blocks, item by item
  };
  /// Stands for what was queued up to and with it.
  using Ticket = int64_t;

  virtual ~BlockTransfers() = default;

  virtual Ticket queue_write(const std::vector<Block>& blocks) = 0;
  virtual Ticket queue_read(const std::vector<Block>& blocks) = 0;
  /// Later work on the device finds all transfers up to `ticket` done. Throws the DeviceError of the first
  /// transfer that failed.
  virtual void wait(Ticket ticket) = 0;
  /// Forgets what has not begun and returns when nothing is under way.
  virtual void abandon() noexcept = 0;
};

}  // namespace headroom
