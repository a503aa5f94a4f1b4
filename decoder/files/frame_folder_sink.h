#pragma once

#include <optional>
#include <vector>

#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"
#include "decoder/outputs/partial_folder.h"
#include "decoder/outputs/written_file.h"

namespace headroom {

/// Writes a folder with a PNG for each frame, 00000.png, 00001.png … (more digits where there are more
/// frames); of several items a folder 0, 1 … for each in it.
///
/// A region that has whole frames is encoded as it comes, frame by frame. Parts of frames may come in any
/// order: a PNG takes its rows in one, so they wait as 8-bit pixels in a file in the folder, which has the
/// size of the whole output, and are encoded when all have come. Memory holds some rows and one encoder.
class FrameFolderSink final : public PictureSink {
 public:
  /// Throws as require_eight_bit_shape and PartialFolder do.
  FrameFolderSink(const std::filesystem::path& folder, const PictureShape& shape);

  /// Throws for the shape what the constructor throws, and makes nothing.
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
  /// `fill(first, count)` puts these pixels of the frame into pixels_.
  template <typename Fill>
  void encode(int64_t item, int64_t frame, const Fill& fill);
  std::filesystem::path path_inside(int64_t item, int64_t frame) const;
  std::filesystem::path waiting_path() const { return folder_.partial() / "pixels"; }

  PartialFolder folder_;
  size_t digits_;
  int64_t frame_bytes_;                 ///< 8-bit pixels of one frame
  std::optional<WrittenFile> waiting_;  ///< [items][frames][rows][columns][channels], once parts have come
  std::vector<bool> encoded_;           ///< [items][frames]
  std::vector<uint8_t> pixels_;
};

}  // namespace headroom
