#pragma once

#include <deque>
#include <vector>

#include "decoder/files/eight_bit.h"
#include "decoder/files/frame_rate.h"
#include "decoder/files/picture_sink.h"
#include "decoder/outputs/partial_file.h"

namespace headroom {

/// Writes clips as YUV4MPEG2, one file per item: 8 bits, RGB as BT.709 in limited range with colour at full
/// resolution (C444), one channel as luma in full range (Cmono, the bytes that .png has). Frames have one
/// size, so every run of pixels goes straight to its place in the file, in whatever order regions come;
/// nothing whole is in memory.
class Y4mSink final : public PictureSink {
 public:
  /// Throws as require_eight_bit_shape and PartialFile do. The space for all items is claimed here.
  Y4mSink(const std::filesystem::path& path, const PictureShape& shape, const FrameRate& rate);

  /// Throws for the shape what the constructor throws, and makes nothing.
  static void check(const std::filesystem::path& path, const PictureShape& shape);

  PixelFormat format() const override { return PixelFormat::eight_bits; }

  static int64_t buffered_bytes();

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void put_bytes(int64_t item, const Region& region, const uint8_t* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void complete() override;
  void take(int64_t item, const Region& region, const EightBitPixels& pixels);
  void put_frame(PartialFile& file, int64_t frame, const Region& region, const EightBitPixels& pixels);

  std::deque<PartialFile> files_;  ///< by item
  int64_t frames_begin_ = 0;       ///< bytes of the file's header
  int64_t plane_bytes_;            ///< of one frame
  int64_t frame_bytes_;            ///< with its header
  std::vector<uint8_t> interleaved_, planes_;
};

}  // namespace headroom
