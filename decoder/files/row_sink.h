#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/base/os/partial_file.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"

namespace headroom {

/// Format of a file with one 8-bit picture.
enum class RowFormat { png, jpeg, webp };

/// Writes one such file per item, as rows arrive. A region must begin in an incomplete row or directly below
/// one. A region of full width goes straight to the encoder if no row above it is incomplete. Other regions
/// wait as 8-bit pixels in an unnamed file on the output's disk, until their rows are complete. Memory holds
/// only a few rows. Regions of different items may alternate.
class RowSink : public PictureSink {
 public:
  /// `quality` is 1 to 100; PNG ignores it. Throws InputError if there is more than one frame or the format
  /// does not allow this size. Also throws like require_eight_bit_shape() and PartialFile.
  RowSink(const std::filesystem::path& path, const PictureShape& shape, RowFormat format, int quality);

  /// Throws what the constructor throws for the shape. Creates no files.
  static void check(const std::filesystem::path& path, const PictureShape& shape, RowFormat format);

  PixelFormat format() const override { return PixelFormat::eight_bits; }

  /// Upper bound on the memory for one item in progress. A WebP needs it after the decode.
  static int64_t buffered_bytes(const PictureShape& shape, RowFormat format);

 protected:
  void put(int64_t item, const Region& region, const float* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void put_bytes(int64_t item, const Region& region, const uint8_t* pixels) override {
    take(item, region, EightBitPixels(pixels));
  }
  void complete() override;

 private:
  struct Item {
    std::optional<PartialFile> file;
    std::unique_ptr<RowWriter> writer;
    int64_t next_row = 0;
    std::deque<std::vector<Interval>> filled;  ///< columns received so far, by row from next_row on
    std::optional<WrittenFile> waiting;  ///< [rows][columns][channels]; set once a part of a row arrives
  };
  Item& open(int64_t item);
  void take(int64_t item, const Region& region, const EightBitPixels& pixels);
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

}  // namespace headroom
