#include "decoder/cpu/scratch_transfers.h"

#include <chrono>

#include "decoder/base/os/process.h"

namespace headroom {

ScratchTransfers::ScratchTransfers(ScratchFile& file, std::map<TensorId, std::vector<int64_t>> slots)
    : file_(file), slots_(std::move(slots)), thread_(thread_without_signals([this] { work(); })) {}

ScratchTransfers::~ScratchTransfers() {
  abandon();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

ScratchTransfers::Ticket ScratchTransfers::queue_write(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) written_bytes_ += block.bytes;
  return queue(true, blocks);
}

ScratchTransfers::Ticket ScratchTransfers::queue_read(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) read_bytes_ += block.bytes;
  return queue(false, blocks);
}

ScratchTransfers::Ticket ScratchTransfers::queue(bool write, const std::vector<Block>& blocks) {
  const std::lock_guard lock(mutex_);
  for (const Block& block : blocks) requests_.push_back({write, block});
  given_ += static_cast<Ticket>(blocks.size());
  queued_.notify_one();
  return given_;
}

void ScratchTransfers::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  if (done_ < ticket && failure_ == nullptr) {
    const auto start = std::chrono::steady_clock::now();
    finished_.wait(lock, [&] { return done_ >= ticket || failure_ != nullptr; });
    wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void ScratchTransfers::abandon() noexcept {
  std::unique_lock lock(mutex_);
  done_ += static_cast<Ticket>(requests_.size());
  requests_.clear();
  finished_.wait(lock, [&] { return done_ == given_; });
}

void ScratchTransfers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [&] { return stop_ || !requests_.empty(); });
    if (stop_) return;
    const Request request = requests_.front();
    requests_.pop_front();
    if (failure_ == nullptr) {  // after a failure the remaining requests are skipped
      lock.unlock();
      std::exception_ptr failure;
      try {
        const Block& block = request.block;
        const int64_t slot = slots_.at(block.tensor).at(static_cast<size_t>(block.position));
        request.write ? file_.write(slot, block.memory, block.bytes)
                      : file_.read(slot, block.memory, block.bytes);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      failure_ = failure;
    }
    ++done_;
    finished_.notify_all();
  }
}

}  // namespace headroom
