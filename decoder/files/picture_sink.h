#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "decoder/files/frame_rate.h"
#include "decoder/graph/axes.h"
#include "decoder/graph/pixel_format.h"

namespace headroom {

constexpr int64_t kRgbaChannels = 4;

/// A whole output: pictures (frames = 1) or clips.
struct PictureShape {
  int64_t items = 1;
  int64_t channels = 3;
  int64_t frames = 1;
  int64_t rows = 0;
  int64_t columns = 0;
};

/// Takes a picture region by region, in the decoder's own range (a displayed picture's -1 to 1). Nothing
/// appears under the output's name before finish(); a sink destroyed without it removes what it wrote.
class PictureSink {
 public:
  /// Throws InputError where an extent is below 1 or the picture has 2^60 values or more.
  explicit PictureSink(const PictureShape& shape);
  virtual ~PictureSink() = default;
  PictureSink(const PictureSink&) = delete;
  PictureSink& operator=(const PictureSink&) = delete;

  /// `pixels` is [frames][rows][columns][channels] of the region, contiguous. Each position comes once.
  /// Throws DeviceError where it cannot be written, std::logic_error where the region lies outside the
  /// picture.
  void write(int64_t item, const Region& region, const float* pixels);
  /// Format that the sink converts pixels to. A sink with an 8-bit format also accepts write_bytes().
  virtual PixelFormat format() const { return PixelFormat::fp32; }
  /// As write(), for pixels that are bytes already (decoder/graph/pixel_format.h). Throws std::logic_error
  /// also if the sink's format is not 8 bits.
  void write_bytes(int64_t item, const Region& region, const uint8_t* pixels);
  /// Makes the output appear. Throws DeviceError, and std::logic_error where positions are missing.
  void finish();

  const PictureShape& shape() const { return shape_; }

 protected:
  virtual void put(int64_t item, const Region& region, const float* pixels) = 0;
  virtual void put_bytes(int64_t item, const Region& region, const uint8_t* pixels);
  virtual void complete() = 0;

 private:
  /// Returns the number of positions in a region. Throws std::logic_error if it lies outside the picture or
  /// has more positions than are still missing.
  int64_t checked_positions(int64_t item, const Region& region) const;

  PictureShape shape_;
  int64_t positions_left_;
};

/// Drops the picture, for decodes of which only the way there is wanted.
class DiscardingSink final : public PictureSink {
 public:
  using PictureSink::PictureSink;

 private:
  void put(int64_t, const Region&, const float*) override {}
  void complete() override {}
};

/// Path of one item, for formats with a file for each item: the path itself for a single item, otherwise
/// name-0.suffix, name-1.suffix …
std::filesystem::path path_of_item(const std::filesystem::path& path, int64_t item, int64_t items);

/// Default quality of lossy formats, on a scale from 1 to 100.
constexpr int kDefaultQuality = 95;

/// A sink chosen by suffix.
/// `.png`: 8 bits, 1 channel (gray), 3 (RGB) or 4 (RGBA), frames = 1; several items become name-0.png,
/// name-1.png …
/// `.jpg`, `.jpeg`, `.webp`: the same, lossy by `quality`, of at most 65,500 and 16,383 rows and columns;
/// JPEG without RGBA.
/// `.y4m`: 8 bits, 1 or 3 channels, any frames, played at `rate`; several items as for .png.
/// No suffix, or a path that ends in '/': a folder with a PNG for each frame, 00000.png, 00001.png …; several
/// items become folders 0, 1 … in it.
/// `.npy`: fp32, N×C×H×W, with frames > 1 N×C×T×H×W. `.safetensors`: the same as the one tensor "sample".
/// A stream (decoder/outputs/output_target.h) takes one item, without a suffix as .png, a clip as .y4m.
/// Throws InputError where the suffix, the shape for it or the folder is not one to write to, DeviceError
/// where the file cannot be made.
std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape,
                                       const FrameRate& rate = {}, int quality = kDefaultQuality);

/// Throws InputError as open_sink() does for the suffix and the shape, and makes nothing. Also for one
/// picture in a name without a suffix, which is rather a file's that lacks one than a folder's.
void check_output(const std::filesystem::path& path, const PictureShape& shape);

/// The most bytes of process memory that such a sink holds for each item under way, whatever its regions; for
/// .webp those of its encoder, when all is decoded. Throws InputError where the suffix is not supported.
int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape);

}  // namespace headroom
