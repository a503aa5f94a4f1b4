#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "decoder/base/os/open_file.h"

namespace headroom {

/// Encoder of one 8-bit picture, gray, RGB or RGBA, that takes rows from the top down.
class RowWriter {
 public:
  RowWriter() = default;
  virtual ~RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// Encodes the next rows, [rows][columns][channels]. Throws DeviceError.
  virtual void write_rows(const uint8_t* pixels, int64_t rows) = 0;
  /// Does the work that needs the whole picture. Call it after the last row, when the decode has freed its
  /// memory. Throws DeviceError.
  virtual void finish() {}
};

/// Rows per call of write_rows(): about 64 KiB of pixels, at least one row.
inline int64_t rows_at_a_time(int64_t columns, int64_t channels) {
  constexpr int64_t kPixelBytesAtATime = 64 * 1024;
  const int64_t rows = kPixelBytesAtATime / (columns * channels);
  return rows > 1 ? rows : 1;
}

/// Writes one JPEG, gray or RGB without chroma subsampling. Rows are encoded as they arrive. libjpeg reports
/// errors through a callback that must not return. They become DeviceError.
class JpegWriter final : public RowWriter {
 public:
  static constexpr int64_t kMostRowsOrColumns = 65'500;

  /// Appends to `file`, which must outlive this. `channels` is 1 or 3, `quality` 1 to 100. Throws
  /// DeviceError.
  JpegWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int quality);
  ~JpegWriter() override;

  void write_rows(const uint8_t* pixels, int64_t rows) override;

  /// Upper bound on libjpeg's memory while it writes.
  static int64_t buffered_bytes(int64_t columns, int64_t channels);

 private:
  struct Encoder;
  bool try_begin(int quality);
  bool try_rows(const uint8_t* pixels, int64_t rows);
  bool try_end();
  [[noreturn]] void fail() const;

  WrittenFile& file_;
  int64_t columns_, rows_, channels_;
  int64_t rows_left_;
  std::unique_ptr<Encoder> encoder_;
};

/// Writes one lossy WebP. The encoder needs the whole picture. So rows wait as 8-bit pixels in an unnamed
/// file beside the output. finish() encodes them, after the decode has freed its memory.
class WebpWriter final : public RowWriter {
 public:
  static constexpr int64_t kMostRowsOrColumns = 16'383;

  /// Appends to `file`, which must outlive this. `channels` is 1, 3 or 4, `quality` 1 to 100. Throws
  /// DeviceError.
  WebpWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int quality);

  void write_rows(const uint8_t* pixels, int64_t rows) override;
  void finish() override;

  /// Upper bound on libwebp's memory while it encodes.
  static int64_t encoder_bytes(int64_t columns, int64_t rows, int64_t channels);
  /// True if this build has libwebp.
  static bool is_built();

 private:
  WrittenFile& file_;
  int64_t columns_, rows_, channels_;
  int quality_;
  int64_t next_row_ = 0;
  WrittenFile waiting_;
};

}  // namespace headroom
