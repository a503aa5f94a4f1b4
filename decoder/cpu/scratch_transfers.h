#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "decoder/cpu/scratch_file.h"
#include "decoder/interpreter/block_transfers.h"

namespace headroom {

/// Moves blocks between memory and a scratch file on a thread of its own, in the order in which they are
/// queued, while the decoding thread computes. The memory must stay as it is until the transfer has been
/// waited for. To be called from one thread.
class ScratchTransfers final : public BlockTransfers {
 public:
  /// `slots` are those of each tensor's blocks in the file, item by item, top to bottom.
  ScratchTransfers(ScratchFile& file, std::map<TensorId, std::vector<int64_t>> slots);
  ~ScratchTransfers() override;
  ScratchTransfers(const ScratchTransfers&) = delete;
  ScratchTransfers& operator=(const ScratchTransfers&) = delete;

  Ticket queue_write(const std::vector<Block>& blocks) override;
  Ticket queue_read(const std::vector<Block>& blocks) override;
  /// Returns when all up to `ticket` is done. Throws the DeviceError of the first transfer that failed.
  void wait(Ticket ticket) override;
  /// Forgets what has not begun and returns when nothing is under way.
  void abandon() noexcept override;

  int64_t written_bytes() const { return written_bytes_; }  ///< as queued
  int64_t read_bytes() const { return read_bytes_; }
  double wait_seconds() const { return wait_seconds_; }  ///< that wait() took, in all

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
  Ticket done_ = 0;   ///< of these, those that are through
  bool stop_ = false;
  std::exception_ptr failure_;
  int64_t written_bytes_ = 0, read_bytes_ = 0;
  double wait_seconds_ = 0;
  std::thread thread_;
};

}  // namespace headroom
