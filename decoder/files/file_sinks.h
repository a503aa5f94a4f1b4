#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/base/os/open_file.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"

namespace headroom {

/// Base of the sinks whose files hold 8-bit pixels. Values are rounded on the way.
class EightBitSink : public PictureSink {
 public:
  using PictureSink::PictureSink;
  PixelFormat format() const final { return PixelFormat::eight_bits; }

 private:
  void put(int64_t item, const Region& region, const float* pixels) final {
    take(item, region, EightBitPixels(pixels));
  }
  void put_bytes(int64_t item, const Region& region, const uint8_t* pixels) final {
    take(item, region, EightBitPixels(pixels));
  }
  virtual void take(int64_t item, const Region& region, const EightBitPixels& pixels) = 0;
};

/// Format of a file with one 8-bit picture.
enum class RowFormat { png, jpeg, webp };

/// Writes one such file per item, as rows arrive. A region must begin in an incomplete row or directly below
/// one. A region of full width goes straight to the encoder if no row above it is incomplete. Other regions
/// wait as 8-bit pixels in an unnamed file on the output's disk, until their rows are complete. Memory holds
/// only a few rows. Regions of different items may alternate.
class RowSink final : public EightBitSink {
 public:
  /// `quality` is 1 to 100; PNG ignores it. Throws InputError if there is more than one frame or the format
  /// does not allow this size. Also throws like require_eight_bit_shape() and PartialFile.
  RowSink(const std::filesystem::path& path, const PictureShape& shape, RowFormat format, int quality);

  /// Throws what the constructor throws for the shape. Creates no files.
  static void check(const std::filesystem::path& path, const PictureShape& shape, RowFormat format);

  /// Upper bound on the memory for one item in progress. A WebP needs it after the decode.
  static int64_t buffered_bytes(const PictureShape& shape, RowFormat format);

 private:
  void complete() override;
  struct Item {
    std::optional<PartialFile> file;
    std::unique_ptr<RowWriter> writer;
    int64_t next_row = 0;
    std::deque<std::vector<Interval>> filled;  ///< columns received so far, by row from next_row on
    std::optional<WrittenFile> waiting;  ///< [rows][columns][channels]; set once a part of a row arrives
  };
  Item& open(int64_t item);
  void take(int64_t item, const Region& region, const EightBitPixels& pixels) override;
  void write_straight(Item& item, const Region& region, const EightBitPixels& pixels);
  void collect(Item& item, const Region& region, const EightBitPixels& pixels);
  /// Throws std::logic_error if a pixel of the region was already written.
  static void require_new(const Item& item, const Region& region);
  void write_complete_rows(Item& item);

  std::filesystem::path path_;
  RowFormat format_;
  int quality_;
  std::vector<Item> items_;
};

/// Writes clips as 8-bit YUV4MPEG2, one file per item. RGB becomes BT.709 in limited range without chroma
/// subsampling (C444). One channel becomes luma in full range (Cmono), the same bytes as in a PNG. All
/// frames have one size. So each run of pixels goes straight to its final offset, and regions may arrive in
/// any order.
class Y4mSink final : public EightBitSink {
 public:
  /// yes: the frames begin a file, with its header. no: they follow earlier frames of a stream.
  enum class Begins { yes, no };

  /// Reserves disk space for all items. Throws like require_eight_bit_shape() and PartialFile.
  Y4mSink(const std::filesystem::path& path, const PictureShape& shape, const FrameRate& rate,
          Begins begins = Begins::yes);

  /// Throws what the constructor throws for the shape. Creates no files.
  static void check(const std::filesystem::path& path, const PictureShape& shape);

  static int64_t buffered_bytes();

 private:
  void complete() override;
  void take(int64_t item, const Region& region, const EightBitPixels& pixels) override;
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

/// Writes a folder with one PNG per frame: 00000.png, 00001.png … (more digits if there are more frames). A
/// batch of several items gets one subfolder per item: 0, 1 …
///
/// A region with whole frames is encoded at once, frame by frame. Partial frames may arrive in any order,
/// but a PNG encoder needs all rows of a frame. So partial frames wait as 8-bit pixels in a temporary file
/// in the folder, as large as the whole output. They are encoded in complete(). Memory holds a few rows and
/// one encoder.
class FrameFolderSink final : public EightBitSink {
 public:
  /// Throws like require_eight_bit_shape() and PartialFile.
  FrameFolderSink(const std::filesystem::path& folder, const PictureShape& shape);

  /// Throws what the constructor throws for the shape. Creates no files.
  static void check(const std::filesystem::path& folder, const PictureShape& shape);

  static int64_t buffered_bytes(const PictureShape& shape);

 private:
  void complete() override;
  void take(int64_t item, const Region& region, const EightBitPixels& pixels) override;
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
