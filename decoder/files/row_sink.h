#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"
#include "decoder/outputs/partial_file.h"

namespace headroom {

/// A file of one picture of 8 bits.
enum class RowFormat { png, jpeg, webp };

/// Writes such files, one per item, as rows arrive. A region begins in rows that are not complete yet, or
/// right below them. One of the whole width goes straight out where nothing is missing above it; of others
/// the rows wait as 8-bit pixels, each until it is complete, in a file without a name on the output's disk:
/// memory holds a few. Items may follow one another or alternate.
class RowSink : public PictureSink {
 public:
  /// `quality` is 1 to 100, for formats that have one. Throws InputError unless there is one frame, where the
  /// format takes no picture of this size, as require_eight_bit_shape and as PartialFile do.
  RowSink(const std::filesystem::path& path, const PictureShape& shape, RowFormat format, int quality);

  /// Throws for the shape what the constructor throws, and makes nothing.
  static void check(const std::filesystem::path& path, const PictureShape& shape, RowFormat format);

  PixelFormat format() const override { return PixelFormat::eight_bits; }

  /// The most bytes held for one item under way. A WebP's are held when the decode is over.
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
    std::deque<std::vector<Interval>> filled;  ///< columns that have come, by row from next_row on
    std::optional<WrittenFile> waiting;        ///< [rows][columns][channels], once parts of rows have come
  };
  Item& open(int64_t item);
  void take(int64_t item, const Region& region, const EightBitPixels& pixels);
  void write_straight(Item& item, const Region& region, const EightBitPixels& pixels);
  void collect(Item& item, const Region& region, const EightBitPixels& pixels);
  /// Throws std::logic_error where a pixel of the region is there already.
  static void require_new(const Item& item, const Region& region);
  void write_complete_rows(Item& item);

  std::filesystem::path path_;
  RowFormat format_;
  int quality_;
  std::vector<Item> items_;
};

}  // namespace headroom
