#pragma once

#include <cstdint>
#include <optional>

#include "decoder/base/os/written_file.h"
#include "decoder/files/png_strips.h"
#include "decoder/files/row_writer.h"

namespace headroom {

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
