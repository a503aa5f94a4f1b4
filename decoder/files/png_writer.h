#pragma once

#include <zlib.h>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "decoder/base/os/open_file.h"
#include "decoder/files/row_writer.h"

namespace headroom {

/// Some rows of a PNG. Strips are compressed independently, in any order.
struct PngStrip {
  /// Context rows above the strip, then the strip's rows. The top strip has one context row of zeros.
  std::vector<uint8_t> pixels;
  int64_t rows_above = 1, rows = 0;
  bool last = false;            ///< last strip of the picture
  std::vector<uint8_t> chunks;  ///< encoded strip, as complete IDAT chunks
  uint32_t checksum = 0;        ///< Adler-32 of the filtered rows
  int64_t filtered_bytes = 0;
};

/// Number of context rows that improve compression: deflate's window is 32 KiB.
int64_t png_rows_above(int64_t row_bytes);

/// Compresses parts of one deflate stream.
class Deflater {
 public:
  /// `strategy` is one of zlib's. Throws std::bad_alloc.
  explicit Deflater(int strategy);
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Compresses `in`. `before` is the uncompressed data right before the part, as far as deflate's window
  /// reaches. Returns the size of the result in `out`, or 0 if it does not fit.
  size_t compress(std::span<uint8_t> before, std::span<uint8_t> in, bool last, std::span<uint8_t> out);

 private:
  z_stream stream_{};
};

/// Filters and compresses strips, one at a time.
class PngStripEncoder {
 public:
  /// `channels` bytes make a pixel. Throws std::bad_alloc.
  PngStripEncoder(int64_t columns, int64_t channels);

  /// Sets the strip's chunks, checksum and filtered_bytes from its pixels. Throws std::bad_alloc.
  void encode(PngStrip& strip);

  /// Upper bound on an encoder's memory for strips of `rows` rows.
  static int64_t held_bytes(int64_t row_bytes, int64_t rows);

 private:
  /// Applies PNG's row filters to rows of the strip's pixels.
  void filter(const PngStrip& strip, int64_t first_row, int64_t rows, std::vector<uint8_t>& filtered);

  const int64_t row_bytes_, pixel_bytes_;
  Deflater runs_;
  std::optional<Deflater> repeats_;  ///< created for the first strip that needs it
  std::vector<uint8_t> filtered_, above_, row_, deflated_, other_;
};

/// Appends four bytes, big-endian, as everywhere in PNG.
void append_png_number(std::vector<uint8_t>& out, uint32_t value);
/// Appends a chunk: length, type, data and CRC.
void append_png_chunk(std::vector<uint8_t>& out, const char* type, std::span<const uint8_t> data);

/// Encodes the strips of a picture on several threads and returns them in order, through a ring buffer. Call
/// it from one thread: open() returns the next strip to fill, close() passes it to the encoders, take()
/// returns the oldest strip.
class PngStrips {
 public:
  /// With one thread, close() encodes. Otherwise workers start when there is work for them.
  PngStrips(int64_t columns, int64_t channels, int64_t rows_of_strip, int threads);
  ~PngStrips();
  PngStrips(const PngStrips&) = delete;
  PngStrips& operator=(const PngStrips&) = delete;

  bool is_full() const { return closed_ - taken_ == std::ssize(ring_); }
  bool empty() const { return closed_ == taken_; }
  /// Must not be called while the ring is full.
  PngStrip& open() { return at(closed_); }
  void close();
  /// True if take() would return at once.
  bool is_ready() const;
  /// Returns the oldest strip, valid until open() returns it again. Rethrows its encoder's exception.
  const PngStrip& take();

  /// Upper bound on the memory in use.
  static int64_t held_bytes(int64_t row_bytes, int64_t rows_of_strip, int threads);

 private:
  PngStrip& at(int64_t number) { return ring_[static_cast<size_t>(number % std::ssize(ring_))]; }
  void run();

  const int64_t columns_, channels_;
  const int threads_;
  std::vector<PngStrip> ring_;
  int64_t closed_ = 0, taken_ = 0;        ///< strips so far
  std::unique_ptr<PngStripEncoder> own_;  ///< the caller's encoder, if there is only one thread

  mutable std::mutex mutex_;  ///< guards the members below, except workers_
  std::condition_variable changed_;
  int64_t given_ = 0, begun_ = 0;  ///< strips so far
  std::vector<bool> encoded_;      ///< by position in the ring
  std::exception_ptr failed_;
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

/// Writes one 8-bit PNG, gray, RGB or RGBA. Several threads filter and compress strips of rows as rows
/// arrive. The file does not depend on the number of threads.
class PngWriter final : public RowWriter {
 public:
  /// Appends to `file`, which must outlive this. `channels` is 1, 3 or 4. Throws DeviceError.
  PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels)
      : PngWriter(file, columns, rows, channels, most_threads()) {}
  /// Uses fewer threads if the picture has too few strips, or if its rows are too long for that many strips
  /// in memory.
  PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int most_threads);

  /// With the last row, it returns once everything is in the file and the strips are freed.
  void write_rows(const uint8_t* pixels, int64_t rows) override;

  /// Upper bound on the memory in use while rows arrive.
  static int64_t buffered_bytes(int64_t columns, int64_t channels);

 private:
  static int most_threads();
  void take_strip();
  void end();
  void append(const std::vector<uint8_t>& bytes);

  WrittenFile& file_;
  const int64_t row_bytes_, rows_of_strip_;
  int64_t rows_left_;
  std::optional<PngStrips> strips_;  ///< reset after the last row
  std::vector<uint8_t> above_;       ///< context rows of the open strip; zeros at the top
  int64_t filled_rows_ = 0;          ///< rows in the open strip so far
  uint32_t checksum_ = 1;            ///< Adler-32 of all filtered rows so far
};

}  // namespace headroom
