#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Passes pieces of a picture to their sink in order, on its own thread, while the decode continues. Its
/// functions are not thread-safe. If a sink throws, the writer drops the remaining pieces. Later calls of
/// give() and wait_until_left() rethrow the exception.
class PictureWriter {
 public:
  struct Piece {
    PictureSink* sink = nullptr;
    int64_t item = 0;
    Region region{};
    PixelFormat format = PixelFormat::fp32;
    const std::byte* pixels = nullptr;  ///< must not change until the piece is written
  };

  PictureWriter() = default;
  /// Drops the waiting pieces and waits for the one that is being written.
  ~PictureWriter();
  PictureWriter(const PictureWriter&) = delete;
  PictureWriter& operator=(const PictureWriter&) = delete;

  void give(const Piece& piece);
  /// Pieces that are not written yet.
  int64_t left() const;
  /// Blocks until at most `most` pieces are left.
  void wait_until_left(int64_t most);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;  ///< the first one is being written
  std::exception_ptr failed_;
  bool ends_ = false;
  std::thread thread_;  ///< started by the first piece
};

}  // namespace headroom
