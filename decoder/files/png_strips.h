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

/// Encodes the strips of a picture on several threads and returns them in order. Strips lie in a ring. To be
/// called from one thread: open() gives the next strip to be filled, close() hands it to the encoders, take()
/// returns the oldest one.
class PngStrips {
 public:
  /// One thread encodes within close(). More are started as there is work for them.
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
  /// The strip stays as it is until open() returns it again. Throws what its encoder threw.
  const PngStrip& take();

  /// At least what is held at a time.
  static int64_t held_bytes(int64_t row_bytes, int64_t rows_of_strip, int threads);

 private:
  PngStrip& at(int64_t number) { return ring_[static_cast<size_t>(number % std::ssize(ring_))]; }
  void run();

  const int64_t columns_, channels_;
  const int threads_;
  std::vector<PngStrip> ring_;
  int64_t closed_ = 0, taken_ = 0;        ///< strips so far
  std::unique_ptr<PngStripEncoder> own_;  ///< of the caller, where there is one thread

  mutable std::mutex mutex_;  ///< guards what follows, but not the threads themselves
  std::condition_variable changed_;
  int64_t given_ = 0, begun_ = 0;  ///< strips so far
  std::vector<bool> encoded_;      ///< by place in the ring
  std::exception_ptr failed_;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace headroom
