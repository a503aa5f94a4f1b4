#pragma once

#include <cstdint>

namespace headroom {

/// One picture of 8 bits in the making, gray, RGB or RGBA, row by row from the top.
class RowWriter {
 public:
  RowWriter() = default;
  virtual ~RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// The next rows, [rows][columns][channels]. Throws DeviceError.
  virtual void write_rows(const uint8_t* pixels, int64_t rows) = 0;
  /// After the last row, and after the decode: what must be done with the whole picture. Throws DeviceError.
  virtual void finish() {}
};

/// Rows that make some 64 KiB of pixels, or one row: enough for one call.
inline int64_t rows_at_a_time(int64_t columns, int64_t channels) {
  constexpr int64_t kPixelBytesAtATime = 64 * 1024;
  const int64_t rows = kPixelBytesAtATime / (columns * channels);
  return rows > 1 ? rows : 1;
}

}  // namespace headroom
