#pragma once

#include <vector>

#include "decoder/gpu/gpu.h"
#include "decoder/interpreter/block_transfers.h"

namespace headroom {

/// Moves blocks between a GPU's memory and slots of pinned host memory, on streams of their own. A copy
/// starts once all work is done that the GPU had been given when it was queued; what is given to it after
/// wait() runs after the copy. A slot is read after it was written, and written again after it was read.
class HostTransfers final : public BlockTransfers {
 public:
  /// `slots` of `slot_bytes` each at `memory`, which is pinned. Both must outlive it.
  HostTransfers(gpu::Gpu& gpu, std::byte* memory, int64_t slots, int64_t slot_bytes);

  Ticket queue_write(const std::vector<Block>& blocks) override;
  Ticket queue_read(const std::vector<Block>& blocks) override;
  void wait(Ticket ticket) override;
  void abandon() noexcept override;

  int64_t written_bytes() const { return written_bytes_; }
  int64_t read_bytes() const { return read_bytes_; }

 private:
  static constexpr Ticket kNever = 0;
  struct Slot {
    Ticket written = kNever, read = kNever;  ///< last
  };
  std::byte* place(const Block& block);
  Ticket done(gpu::Stream stream);
  void wait_on(gpu::Stream stream, Ticket ticket);

  gpu::Gpu& gpu_;
  std::byte* memory_;
  int64_t slot_bytes_;
  std::vector<Slot> slots_;
  std::vector<gpu::Event> events_;  ///< by ticket
  int64_t written_bytes_ = 0, read_bytes_ = 0;
};

}  // namespace headroom
