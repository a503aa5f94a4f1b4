#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "decoder/base/os/scratch_file.h"
#include "decoder/interpreter/block_transfers.h"

namespace headroom {

/// Moves blocks between memory and a scratch file on a thread of its own, in queue order, while the decoding
/// thread computes. Leave a block's memory unchanged until wait() has covered its transfer. Not thread-safe:
/// call it from one thread.
class ScratchTransfers final : public BlockTransfers {
 public:
  /// `slots` lists the file slots of each tensor's blocks, item by item, top to bottom.
  ScratchTransfers(ScratchFile& file, std::map<TensorId, std::vector<int64_t>> slots);
  ~ScratchTransfers() override;
  ScratchTransfers(const ScratchTransfers&) = delete;
  ScratchTransfers& operator=(const ScratchTransfers&) = delete;

  Ticket queue_write(const std::vector<Block>& blocks) override;
  Ticket queue_read(const std::vector<Block>& blocks) override;
  /// Returns when all transfers up to `ticket` are done. Throws the DeviceError of the first transfer that
  /// failed.
  void wait(Ticket ticket) override;
  /// Drops transfers that have not begun and returns when none is running.
  void abandon() noexcept override;

  int64_t written_bytes() const { return written_bytes_; }  ///< counted when queued
  int64_t read_bytes() const { return read_bytes_; }
  double wait_seconds() const { return wait_seconds_; }  ///< total time in wait()

 private:
  struct Request {
    bool write;
    Block block;
  };
  Ticket queue(bool write, const std::vector<Block>& blocks);
  void work();

  ScratchFile& file_;
  const std::map<TensorId, std::vector<int64_t>> slots_;
  std::mutex mutex_;
  std::condition_variable queued_, finished_;
  std::deque<Request> requests_;
  Ticket given_ = 0;  ///< requests queued so far
  Ticket done_ = 0;   ///< requests finished so far
  bool stop_ = false;
  std::exception_ptr failure_;
  int64_t written_bytes_ = 0, read_bytes_ = 0;
  double wait_seconds_ = 0;
  std::thread thread_;
};

}  // namespace headroom
