#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/outputs/left_behind.h"

namespace headroom {

/// Hands a picture on to another sink and keeps a small copy of it up to date on the way: a binary PPM whose
/// longest side has at most kLongestPreview pixels, which other programs may read at any time. Every pixel is
/// the average of a square of the picture, as far as the region with the square's middle holds it; pixels to
/// come are mid-grey. Of a batch or clip it shows the first picture:
/// the first frame of the first item.
///
/// The file is there, whole, before the first region, and its pixels are overwritten in place. It stays where
/// the picture is finished; it goes with a sink that is destroyed before, and where a signal ends the program
/// (left_behind.h). Of the process's own memory it takes one row of its pixels, 15 KiB at the most.
class PreviewSink final : public PictureSink {
 public:
  static constexpr int64_t kLongestPreview = 1024;

  /// Throws InputError unless the name ends in .ppm, the folder exists and the picture has 1 or 3 channels;
  /// DeviceError where the file cannot be made.
  PreviewSink(PictureSink& next, const std::filesystem::path& file);
  ~PreviewSink() override;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override;
  void make_file();
  void draw_row(const Region& region, const float* pixels, int64_t row);
  /// The pixel's square, cut to the picture.
  Interval square(int64_t pixel, int64_t extent) const;
  /// The preview's pixels whose squares have their middles in `part` of an axis.
  Interval pixels_in(const Interval& part, int64_t extent) const;

  PictureSink& next_;
  std::filesystem::path file_;
  int64_t side_;  ///< of the squares, in pixels of the picture
  int64_t rows_, columns_;
  int64_t pixels_begin_ = 0;  ///< offset of the pixels in the file
  int descriptor_ = -1;
  std::optional<RemovedOnSignal> on_signal_;  ///< until the picture is finished
  std::vector<float> sums_;
  std::vector<uint8_t> bytes_;
};

}  // namespace headroom
