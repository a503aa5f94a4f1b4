#include "decoder/gpu/transfers/picture_writer.h"

namespace headroom {
namespace {

void write(const PictureWriter::Piece& piece) {
  if (piece.format == PixelFormat::fp32) {
    piece.sink->write(piece.item, piece.region, reinterpret_cast<const float*>(piece.pixels));
  } else {
    piece.sink->write_bytes(piece.item, piece.region, reinterpret_cast<const uint8_t*>(piece.pixels));
  }
}

}  // namespace

PictureWriter::~PictureWriter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PictureWriter::give(const Piece& piece) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) std::rethrow_exception(failed_);
    pieces_.push_back(piece);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

int64_t PictureWriter::left() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(pieces_.size());
}

void PictureWriter::wait_until_left(int64_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return static_cast<int64_t>(pieces_.size()) <= most; });
  if (failed_) std::rethrow_exception(failed_);
}

void PictureWriter::run() {
  std::unique_lock lock(mutex_);
  while (!failed_) {
    changed_.wait(lock, [&] { return ends_ || !pieces_.empty(); });
    if (ends_) return;
    const Piece piece = pieces_.front();
    lock.unlock();
    std::exception_ptr failed;
    try {
      write(piece);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    failed_ = failed;
    pieces_.erase(pieces_.begin(), failed ? pieces_.end() : pieces_.begin() + 1);
    changed_.notify_all();
  }
}

}  // namespace headroom
