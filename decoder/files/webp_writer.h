#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/base/os/written_file.h"
#include "decoder/files/row_writer.h"

namespace headroom {

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
