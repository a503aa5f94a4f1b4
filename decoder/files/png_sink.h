#pragma once

#include <optional>
#include <vector>

#include "decoder/files/eight_bit.h"
#include "decoder/files/partial_file.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/png_writer.h"

namespace headroom {

/// Writes PNG files, one per item, as rows arrive. Regions come in bands from top to bottom: those of one
/// band have the same rows, and together the whole width. A band of one region goes straight out; several are
/// collected as 8-bit pixels, and no longer than the band lasts. Items may follow one another or alternate.
class PngSink : public PictureSink {
 public:
  /// Throws InputError unless there is one frame, as require_eight_bit_shape and as PartialFile do.
  PngSink(const std::filesystem::path& path, const PictureShape& shape);

  PixelFormat format() const override { return PixelFormat::eight_bits; }

  /// The most bytes held for one item under way, when a band has at most this many rows.
  static int64_t buffered_bytes(const PictureShape& shape, int64_t band_rows);

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
    std::optional<PngWriter> writer;
    int64_t next_row = 0;
    Interval band;                 ///< rows of the band being collected; empty between bands
    std::vector<Interval> filled;  ///< columns of it that have come
    std::vector<uint8_t> pixels;   ///< [band rows][columns][channels]
  };
  Item& open(int64_t item);
  void take(int64_t item, const Region& region, const EightBitPixels& pixels);
  void write_straight(Item& item, const Region& region, const EightBitPixels& pixels);
  void collect(Item& item, const Region& region, const EightBitPixels& pixels);

  std::filesystem::path path_;
  std::vector<Item> items_;
};

}  // namespace headroom
