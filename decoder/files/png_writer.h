#pragma once

#include <png.h>

#include <cstdint>

#include "decoder/files/row_writer.h"
#include "decoder/outputs/written_file.h"

namespace headroom {

/// One 8-bit PNG, gray or RGB, row by row. libpng reports errors by longjmp; they end here and become
/// DeviceError.
class PngWriter final : public RowWriter {
 public:
  /// Appends to `file`, which must outlive this. `channels` is 1 or 3. Throws DeviceError.
  PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels);
  ~PngWriter() override;

  /// libpng's memory goes with the last row.
  void write_rows(const uint8_t* pixels, int64_t rows) override;

  /// At least what libpng and zlib hold while they write.
  static int64_t buffered_bytes(int64_t columns, int64_t channels);

 private:
  bool try_begin();
  bool try_rows(const uint8_t* pixels, int64_t rows);
  bool try_end();
  void close_encoder();
  [[noreturn]] void fail() const;
  static void on_write(png_structp png, png_bytep data, size_t bytes);
  [[noreturn]] static void on_error(png_structp png, png_const_charp message);
  static void on_warning(png_structp png, png_const_charp message);

  WrittenFile& file_;
  int64_t columns_, rows_, channels_;
  int64_t rows_left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int error_number_ = 0;  ///< of the failed write, 0 where libpng itself failed
  char message_[120] = "";
};

}  // namespace headroom
