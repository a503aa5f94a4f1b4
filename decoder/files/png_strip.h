#pragma once

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// Some rows of a PNG. Strips are compressed apart, in any order.
struct PngStrip {
  /// Rows above the strip, then its own. At the top of the picture there is one above, of zeros.
  std::vector<uint8_t> pixels;
  int64_t rows_above = 1, rows = 0;
  bool last = false;            ///< of the picture
  std::vector<uint8_t> chunks;  ///< the encoded strip: whole IDAT chunks
  uint32_t checksum = 0;        ///< Adler-32 of the filtered rows
  int64_t filtered_bytes = 0;
};

/// Rows above a strip that are worth having: compression looks for repeats in 32 KiB.
int64_t png_rows_above(int64_t row_bytes);

/// Makes parts of one deflate stream.
class Deflater {
 public:
  /// `strategy` is one of zlib's. Throws std::bad_alloc.
  explicit Deflater(int strategy);
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// `before` is what the stream has before the part, as far as repeats are looked for in it. Returns how
  /// many bytes of `out` the part takes, none where it does not fit.
  size_t compress(std::span<uint8_t> before, std::span<uint8_t> in, bool last, std::span<uint8_t> out);

 private:
  z_stream stream_{};
};

/// Filters and compresses strips, one at a time.
class PngStripEncoder {
 public:
  /// `channels` bytes make a pixel. Throws std::bad_alloc.
  PngStripEncoder(int64_t columns, int64_t channels);

  /// Makes the strip's chunks, checksum and count of filtered bytes from its rows. Throws std::bad_alloc.
  void encode(PngStrip& strip);

  /// At least what an encoder holds for strips of so many rows.
  static int64_t held_bytes(int64_t row_bytes, int64_t rows);

 private:
  /// Filters rows of the strip's pixels.
  void filter(const PngStrip& strip, int64_t first_row, int64_t rows, std::vector<uint8_t>& filtered);

  const int64_t row_bytes_, pixel_bytes_;
  Deflater runs_;
  std::optional<Deflater> repeats_;  ///< once a strip needs it
  std::vector<uint8_t> filtered_, above_, row_, deflated_, other_;
};

/// Four bytes, the highest first, as PNG has all numbers.
void append_png_number(std::vector<uint8_t>& out, uint32_t value);
/// Appends a chunk: length, type, data and CRC.
void append_png_chunk(std::vector<uint8_t>& out, const char* type, std::span<const uint8_t> data);

}  // namespace headroom
