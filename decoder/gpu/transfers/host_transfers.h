#pragma once

#include <map>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_memory.h"
#include "decoder/interpreter/block_transfers.h"

namespace headroom {

/// Copies blocks between GPU memory and pinned host memory, on separate streams. A copy waits for all work
/// queued on the compute stream before it. Work queued there after wait() runs after the copy. A read of a
/// block waits for its write, and a new write waits for earlier reads. The write of a tensor's first block
/// waits for all earlier reads, since another tensor may have used the memory.
class HostTransfers final : public BlockTransfers {
 public:
  /// `layout` places blocks in `memory`. All references must outlive it.
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
    Ticket written = kNever, read = kNever;  ///< last copies
  };
  Copied& copied(const Block& block) { return copied_[{block.tensor, block.position}]; }
  /// Calls f(host address, GPU address, bytes) for each separate copy of a block.
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
