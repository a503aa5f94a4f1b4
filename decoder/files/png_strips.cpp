#include "decoder/files/png_strips.h"

#include <system_error>

namespace headroom {
namespace {

/// Two strips per thread: while the threads encode, the caller fills and writes others.
int64_t strips_at_a_time(int threads) {
  return threads > 1 ? 2 * int64_t{threads} : 1;
}

}  // namespace

PngStrips::PngStrips(int64_t columns, int64_t channels, int64_t rows_of_strip, int threads)
    : columns_(columns),
      channels_(channels),
      threads_(threads),
      ring_(static_cast<size_t>(strips_at_a_time(threads))),
      encoded_(ring_.size()) {
  const int64_t row_bytes = columns * channels;
  for (PngStrip& strip : ring_)
    strip.pixels.resize(static_cast<size_t>((png_rows_above(row_bytes) + rows_of_strip) * row_bytes));
  if (threads_ == 1) own_ = std::make_unique<PngStripEncoder>(columns, channels);
}

PngStrips::~PngStrips() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void PngStrips::close() {
  PngStrip& strip = open();
  ++closed_;
  if (own_) return own_->encode(strip);
  {
    const std::lock_guard lock(mutex_);
    encoded_[static_cast<size_t>(given_++ % std::ssize(ring_))] = false;
  }
  changed_.notify_all();
  if (std::ssize(workers_) == threads_) return;
  try {
    workers_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (workers_.empty()) throw;  // continue with the threads that started
  }
}

bool PngStrips::is_ready() const {
  if (own_) return true;
  const std::lock_guard lock(mutex_);
  return failed_ || encoded_[static_cast<size_t>(taken_ % std::ssize(ring_))];
}

const PngStrip& PngStrips::take() {
  const int64_t number = taken_++;
  if (own_) return at(number);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || encoded_[static_cast<size_t>(number % std::ssize(ring_))]; });
  if (failed_) std::rethrow_exception(failed_);
  return at(number);
}

void PngStrips::run() {
  std::unique_ptr<PngStripEncoder> encoder;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || begun_ < given_; });
    if (ends_) return;
    const int64_t number = begun_++;
    lock.unlock();
    std::exception_ptr failed;
    try {
      if (!encoder) encoder = std::make_unique<PngStripEncoder>(columns_, channels_);
      encoder->encode(at(number));
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (failed) failed_ = failed;
    encoded_[static_cast<size_t>(number % std::ssize(ring_))] = true;
    changed_.notify_all();
  }
}

int64_t PngStrips::held_bytes(int64_t row_bytes, int64_t rows_of_strip, int threads) {
  const int64_t filtered = rows_of_strip * (1 + row_bytes);
  const int64_t of_strip = (png_rows_above(row_bytes) + rows_of_strip) * row_bytes + filtered + filtered / 64;
  return strips_at_a_time(threads) * of_strip +
         threads * PngStripEncoder::held_bytes(row_bytes, rows_of_strip);
}

}  // namespace headroom
