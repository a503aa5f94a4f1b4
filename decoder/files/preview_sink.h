#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/open_file.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Forwards a picture to another sink and keeps a small copy of it in a binary PPM file. Other programs may
/// read the file at any time. Its longest side has at most kLongestPreview pixels. Each preview pixel
/// averages a square of the picture, cut to the region that holds the square's middle. Pixels not yet
/// decoded are mid-grey. For a batch or clip, it shows the first frame of the first item.
///
/// The complete file exists before the first region. Its pixels are then overwritten in place. The file
/// stays if the picture is finished. It is removed if the sink is destroyed earlier, or if a signal ends the
/// program (left_behind.h). The sink buffers one row of preview pixels, at most 15 KiB.
class PreviewSink final : public PictureSink {
 public:
  static constexpr int64_t kLongestPreview = 1024;

  /// Throws InputError unless the name ends in .ppm, the folder exists and the picture has 1 or 3 channels.
  /// Throws DeviceError if the file cannot be created.
  PreviewSink(PictureSink& next, const std::filesystem::path& file);
  ~PreviewSink() override;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override;
  void make_file();
  void draw_row(const Region& region, const float* pixels, int64_t row);
  /// Square that a preview pixel averages, along one axis, cut to the picture.
  Interval square(int64_t pixel, int64_t extent) const;
  /// Preview pixels whose squares have their middle in `part`, along one axis.
  Interval pixels_in(const Interval& part, int64_t extent) const;

  PictureSink& next_;
  std::filesystem::path file_;
  int64_t side_;  ///< side of the squares, in picture pixels
  int64_t rows_, columns_;
  int64_t pixels_begin_ = 0;  ///< offset of the pixels in the file
  std::optional<Descriptor> descriptor_;
  std::optional<RemovedOnSignal> on_signal_;  ///< set until the picture is finished
  std::vector<float> sums_;
  std::vector<uint8_t> bytes_;
};

}  // namespace headroom
