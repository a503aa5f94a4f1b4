#pragma once

#include <optional>
#include <vector>

#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/written_file.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Writes a folder with one PNG per frame: 00000.png, 00001.png … (more digits if there are more frames). A
/// batch of several items gets one subfolder per item: 0, 1 …
///
/// A region with whole frames is encoded at once, frame by frame. Partial frames may arrive in any order,
/// but a PNG encoder needs all rows of a frame. So partial frames wait as 8-bit pixels in a temporary file
/// in the folder, as large as the whole output. They are encoded in complete(). Memory holds a few rows and
/// one encoder.
class FrameFolderSink final : public PictureSink {
 public:
  /// Throws like require_eight_bit_shape() and PartialFile.
  FrameFolderSink(const std::filesystem::path& folder, const PictureShape& shape);

  /// Throws what the constructor throws for the shape. Creates no files.
  static void check(const std::filesystem::path& folder, const PictureShape& shape);

  PixelFormat format() const override { return PixelFormat::eight_bits; }

  static int64_t buffered_bytes(const PictureShape& shape);

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void put_bytes(int64_t item, const Region& region, const uint8_t* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void complete() override;
  void take(int64_t item, const Region& region, const EightBitPixels& pixels);
  void keep(int64_t item, const Region& region, const EightBitPixels& pixels);
  /// `fill(first, count)` copies these pixels of the frame into pixels_.
  template <typename Fill>
  void encode(int64_t item, int64_t frame, const Fill& fill);
  std::filesystem::path path_inside(int64_t item, int64_t frame) const;
  std::filesystem::path waiting_path() const { return folder_.partial() / "pixels"; }

  PartialFile folder_;
  size_t digits_;
  int64_t frame_bytes_;                 ///< 8-bit pixels of one frame
  std::optional<WrittenFile> waiting_;  ///< [items][frames][rows][columns][channels]; for partial frames
  std::vector<bool> encoded_;           ///< [items][frames]
  std::vector<uint8_t> pixels_;
};

}  // namespace headroom
