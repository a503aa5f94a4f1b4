#pragma once

#include <cstdint>
#include <memory>

#include "decoder/base/os/written_file.h"
#include "decoder/files/row_writer.h"

namespace headroom {

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

}  // namespace headroom
