#pragma once

#include <map>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/host_layout.h"
#include "decoder/gpu/host_memory.h"
#include "decoder/interpreter/block_transfers.h"

namespace headroom {

/// Moves blocks between a GPU's memory and pinned host memory, on streams of their own. A copy starts once
/// all work is done that the GPU had been given when it was queued; what is given to it after wait() runs
/// after the copy. A block is read after it was written, and written again after it was read; a tensor's
/// blocks are written from the first one on, after all reads so far of whatever lay there before.
class HostTransfers final : public BlockTransfers {
 public:
  /// Blocks lie in `memory` by `layout`. All must outlive it.
  HostTransfers(gpu::Gpu& gpu, const HostMemory& memory, const HostLayout& layout)
      : gpu_(gpu), memory_(memory), layout_(layout) {}

  Ticket queue_write(const std::vector<Block>& blocks) override;
  Ticket queue_read(const std::vector<Block>& blocks) override;
  void wait(Ticket ticket) override;
  void abandon() noexcept override;

  int64_t written_bytes() const { return written_bytes_; }
  int64_t read_bytes() const { return read_bytes_; }

 private:
  static constexpr Ticket kNever = 0;
  struct Copied {
    Ticket written = kNever, read = kNever;  ///< last
  };
  Copied& copied(const Block& block) { return copied_[{block.tensor, block.position}]; }
  /// f(in the host's memory, in the GPU's, bytes) for each part of a block that is copied by itself.
  template <typename F>
  void for_each_copy(const Block& block, const F& f) const;
  Ticket done(gpu::Stream stream);
  void wait_on(gpu::Stream stream, Ticket ticket);

  gpu::Gpu& gpu_;
  const HostMemory& memory_;
  const HostLayout& layout_;
  std::map<std::pair<TensorId, int64_t>, Copied> copied_;  ///< by tensor and position
  Ticket last_read_ = kNever;
  std::vector<gpu::Event> events_;  ///< by ticket
  int64_t written_bytes_ = 0, read_bytes_ = 0;
};

}  // namespace headroom
