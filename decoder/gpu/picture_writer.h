#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Gives pieces of a picture to their sink in their order, on a thread of its own, while the decode goes on.
/// To be called from one thread. What a sink throws ends it: the pieces behind are dropped, and every later
/// call throws that again.
class PictureWriter {
 public:
  struct Piece {
    PictureSink* sink = nullptr;
    int64_t item = 0;
    Region region{};
    PixelFormat format = PixelFormat::fp32;
    const std::byte* pixels = nullptr;  ///< stay as they are until the piece is no longer among those left
  };

  PictureWriter() = default;
  /// Drops what has not begun and returns when nothing is under way.
  ~PictureWriter();
  PictureWriter(const PictureWriter&) = delete;
  PictureWriter& operator=(const PictureWriter&) = delete;

  void give(const Piece& piece);
  /// Pieces that are not written yet.
  int64_t left() const;
  /// Returns once at most so many are left.
  void wait_until_left(int64_t most);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;  ///< the first one is being written
  std::exception_ptr failed_;
  bool ends_ = false;
  std::thread thread_;  ///< from the first piece on
};

}  // namespace headroom
