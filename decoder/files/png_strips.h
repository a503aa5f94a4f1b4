#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "decoder/files/png_strip.h"

namespace headroom {

/// Encodes the strips of a picture on several threads and returns them in order, through a ring buffer. Call
/// it from one thread: open() returns the next strip to fill, close() passes it to the encoders, take()
/// returns the oldest strip.
class PngStrips {
 public:
  /// With one thread, close() encodes. Otherwise workers start when there is work for them.
  PngStrips(int64_t columns, int64_t channels, int64_t rows_of_strip, int threads);
  ~PngStrips();
  PngStrips(const PngStrips&) = delete;
  PngStrips& operator=(const PngStrips&) = delete;

  bool is_full() const { return closed_ - taken_ == std::ssize(ring_); }
  bool empty() const { return closed_ == taken_; }
  /// Must not be called while the ring is full.
  PngStrip& open() { return at(closed_); }
  void close();
  /// True if take() would return at once.
  bool is_ready() const;
  /// Returns the oldest strip, valid until open() returns it again. Rethrows its encoder's exception.
  const PngStrip& take();

  /// Upper bound on the memory in use.
  static int64_t held_bytes(int64_t row_bytes, int64_t rows_of_strip, int threads);

 private:
  PngStrip& at(int64_t number) { return ring_[static_cast<size_t>(number % std::ssize(ring_))]; }
  void run();

  const int64_t columns_, channels_;
  const int threads_;
  std::vector<PngStrip> ring_;
  int64_t closed_ = 0, taken_ = 0;        ///< strips so far
  std::unique_ptr<PngStripEncoder> own_;  ///< the caller's encoder, if there is only one thread

  mutable std::mutex mutex_;  ///< guards the members below, except workers_
  std::condition_variable changed_;
  int64_t given_ = 0, begun_ = 0;  ///< strips so far
  std::vector<bool> encoded_;      ///< by position in the ring
  std::exception_ptr failed_;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace headroom
