#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "decoder/base/os/partial_file.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/frame_rate.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Writes clips as 8-bit YUV4MPEG2, one file per item. RGB becomes BT.709 in limited range without chroma
/// subsampling (C444). One channel becomes luma in full range (Cmono), the same bytes as in a PNG. All
/// frames have one size. So each run of pixels goes straight to its final offset, and regions may arrive in
/// any order.
class Y4mSink final : public PictureSink {
 public:
  /// Reserves disk space for all items. Throws like require_eight_bit_shape() and PartialFile.
  Y4mSink(const std::filesystem::path& path, const PictureShape& shape, const FrameRate& rate);

  /// Throws what the constructor throws for the shape. Creates no files.
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
  int64_t frames_begin_ = 0;       ///< size of the file's header in bytes
  int64_t plane_bytes_;            ///< bytes of one plane of a frame
  int64_t frame_bytes_;            ///< bytes of a frame with its header
  std::vector<uint8_t> interleaved_, planes_;
};

/// Converts 8-bit RGB, [count][3], to BT.709 YCbCr in limited range. Y is 16 to 235. Cb and Cr are 16 to
/// 240, centred on 128. Each value is rounded to nearest, halves up. Gray gives Cb = Cr = 128.
void rgb_to_bt709(const uint8_t* rgb, int64_t count, uint8_t* y, uint8_t* cb, uint8_t* cr);

}  // namespace headroom
