#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "decoder/base/axes.h"
#include "decoder/base/pixel_format.h"
#include "decoder/files/array.h"

namespace headroom {

/// Frames per second as a ratio: 24 is 24 / 1, television's 29.97 is 30000 / 1001.
struct FrameRate {
  int64_t frames = 24;
  int64_t seconds = 1;
};

/// Parses "24" or "30000/1001". Each number is 1 to 1,000,000. Throws InputError naming `option`.
FrameRate parse_frame_rate(const std::string& text, const std::string& option);

constexpr int64_t kRgbaChannels = 4;

/// Shape of a whole output: pictures (frames = 1) or clips.
struct PictureShape {
  int64_t items = 1;
  int64_t channels = 3;
  int64_t frames = 1;
  int64_t rows = 0;
  int64_t columns = 0;
};

/// Receives a picture region by region, in the decoder's value range (-1 to 1 for a displayed picture). The
/// output appears under its name only in finish(). A sink destroyed earlier removes what it wrote.
class PictureSink {
 public:
  /// Throws InputError if an extent is below 1 or the picture has 2^60 values or more.
  explicit PictureSink(const PictureShape& shape);
  virtual ~PictureSink() = default;
  PictureSink(const PictureSink&) = delete;
  PictureSink& operator=(const PictureSink&) = delete;

  /// Writes a region. `pixels` is contiguous, [frames][rows][columns][channels]. Write each position exactly
  /// once. Throws DeviceError if writing fails, std::logic_error if the region lies outside the picture.
  void write(int64_t item, const Region& region, const float* pixels);
  /// Format that the sink converts pixels to. A sink with an 8-bit format also accepts write_bytes().
  virtual PixelFormat format() const { return PixelFormat::fp32; }
  /// Like write(), for pixels that are already bytes (decoder/base/pixel_format.h). Also throws
  /// std::logic_error if the sink's format is not 8 bits.
  void write_bytes(int64_t item, const Region& region, const uint8_t* pixels);
  /// The picture's memory on the GPU of the decode, N×C×T×H×W. The device writes there itself and reports
  /// each region by wrote(). Null: the device calls write().
  virtual const DeviceArray* on_device() const { return nullptr; }
  /// Notes that the device has queued the writes of a region. Throws like write().
  void wrote(int64_t item, const Region& region);
  /// Completes the output under its name. Throws DeviceError, or std::logic_error if positions are missing.
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

/// Discards all pixels. For measuring time and memory of a decode.
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

/// Opens a sink chosen by the path's suffix:
///   .png            8 bits; 1 (gray), 3 (RGB) or 4 (RGBA) channels; 1 frame
///   .jpg, .jpeg     lossy by `quality`; 1 or 3 channels; 1 frame; at most 65,500 rows or columns
///   .webp           lossy by `quality`; 1, 3 or 4 channels; 1 frame; at most 16,383 rows or columns
///   .y4m            8 bits; 1 or 3 channels; any number of frames, played at `rate`
///   none, or '/'    a folder with one PNG per frame, 00000.png, 00001.png …
///   .npy            fp32, N×C×H×W, or N×C×T×H×W for several frames
///   .safetensors    like .npy, as the only tensor "sample"
/// A batch of several items becomes name-0.png, name-1.png … (likewise for the other picture formats and
/// .y4m). In a folder of frames, each item gets a subfolder 0, 1 … A stream
/// (decoder/base/os/output_target.h) takes one item. Without a suffix, it gets PNG for a picture and Y4M for
/// a clip.
///
/// Throws InputError if the suffix, the shape or the folder is unsuitable, DeviceError if the file cannot be
/// created.
std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape,
                                       const FrameRate& rate = {}, int quality = kDefaultQuality);

/// Checks the suffix and the shape like open_sink(), but creates nothing. It also rejects one picture with a
/// name without a suffix, because the user probably forgot the suffix. Throws InputError.
void check_output(const std::filesystem::path& path, const PictureShape& shape);

/// Upper bound on the memory of such a sink, in bytes, for each item in progress. A .webp output needs it
/// for its encoder, after the decode. Throws InputError for an unsupported suffix.
int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape);

/// Pixels that are contiguous both in a region's frame and in the whole frame.
struct Run {
  int64_t source = 0;  ///< index of the first pixel in the region's frame
  int64_t target = 0;  ///< index of the first pixel in the whole frame
  int64_t count = 0;
};

/// Splits one frame of a region into runs of at most `most` pixels and calls f(run) for each, in order. A
/// region with all `columns` gives runs over several rows; otherwise a run lies in one row.
template <typename F>
void for_each_run(const Region& region, int64_t columns, int64_t most, const F& f) {
  const bool full_width = region.x.length() == columns;
  const int64_t length = full_width ? region.y.length() * columns : region.x.length();
  const int64_t segments = full_width ? 1 : region.y.length();
  for (int64_t segment = 0; segment < segments; ++segment) {
    const int64_t source = segment * length;
    const int64_t target = (region.y.begin + segment) * columns + region.x.begin;
    for (int64_t begin = 0; begin < length; begin += most) {
      f(Run{source + begin, target + begin, std::min(most, length - begin)});
    }
  }
}

}  // namespace headroom
