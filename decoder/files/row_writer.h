#pragma once

#include <cstdint>

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

}  // namespace headroom
