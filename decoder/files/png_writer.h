#pragma once

#include <cstdint>
#include <optional>

#include "decoder/files/png_strips.h"
#include "decoder/files/row_writer.h"
#include "decoder/outputs/written_file.h"

namespace headroom {

/// One 8-bit PNG, gray, RGB or RGBA. Strips of rows are filtered and compressed by several threads as rows
/// come; the file does not depend on how many.
class PngWriter final : public RowWriter {
 public:
  /// Appends to `file`, which must outlive this. `channels` is 1, 3 or 4. Throws DeviceError.
  PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels)
      : PngWriter(file, columns, rows, channels, most_threads()) {}
  /// Uses fewer threads where the picture gives them nothing to do, or rows are so long that strips would
  /// take too much memory.
  PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int most_threads);

  /// The last row returns when all is in the file, and nothing is held any more.
  void write_rows(const uint8_t* pixels, int64_t rows) override;

  /// At least what is held while rows come.
  static int64_t buffered_bytes(int64_t columns, int64_t channels);

 private:
  static int most_threads();
  void take_strip();
  void end();
  void append(const std::vector<uint8_t>& bytes);

  WrittenFile& file_;
  const int64_t row_bytes_, rows_of_strip_;
  int64_t rows_left_;
  std::optional<PngStrips> strips_;  ///< none once all is written
  std::vector<uint8_t> above_;       ///< rows above the open strip; at the top one of zeros
  int64_t filled_rows_ = 0;          ///< of the open strip
  uint32_t checksum_ = 1;            ///< Adler-32 of all filtered rows so far
};

}  // namespace headroom
