#include "decoder/files/png_writer.h"

#include <csetjmp>
#include <cstdio>
#include <string>

#include "decoder/graph/errors.h"

// Between a setjmp and the longjmp back to it no object with a destructor may come to life. That is why each
// try_ function below is a few C calls on members and nothing else.

namespace headroom {
namespace {

// Below zlib's default of 6: the decode waits for it.
constexpr int kCompressionLevel = 3;
constexpr size_t kCompressedChunk = 64 * 1024;

}  // namespace

PngWriter::PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels)
    : file_(file), columns_(columns), rows_(rows), channels_(channels), rows_left_(rows) {
  png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  if (png_ != nullptr) info_ = png_create_info_struct(png_);
  if (info_ == nullptr || !try_begin()) {
    close_encoder();
    fail();
  }
}

PngWriter::~PngWriter() {
  close_encoder();
}

void PngWriter::close_encoder() {
  if (png_ != nullptr) png_destroy_write_struct(&png_, &info_);
}

void PngWriter::write_rows(const uint8_t* pixels, int64_t rows) {
  if (png_ == nullptr || rows > rows_left_ || !try_rows(pixels, rows)) fail();
  rows_left_ -= rows;
  if (rows_left_ > 0) return;
  if (!try_end()) fail();
  close_encoder();
}

bool PngWriter::try_begin() {
  if (setjmp(png_jmpbuf(png_))) return false;
  png_set_write_fn(png_, this, on_write, nullptr);
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_compression_level(png_, kCompressionLevel);
  png_set_compression_buffer_size(png_, kCompressedChunk);
  png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB | PNG_FILTER_UP);
  png_set_IHDR(png_, info_, static_cast<png_uint_32>(columns_), static_cast<png_uint_32>(rows_), 8,
               channels_ == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png_, info_);
  return true;
}

bool PngWriter::try_rows(const uint8_t* pixels, int64_t rows) {
  if (setjmp(png_jmpbuf(png_))) return false;
  for (int64_t row = 0; row < rows; ++row) png_write_row(png_, pixels + row * columns_ * channels_);
  return true;
}

bool PngWriter::try_end() {
  if (setjmp(png_jmpbuf(png_))) return false;
  png_write_end(png_, info_);
  return true;
}

void PngWriter::fail() const {
  if (error_number_ != 0) file_.fail(error_number_);
  throw DeviceError(file_.name().string() +
                    ": cannot be written: libpng: " + (message_[0] != '\0' ? message_ : "failed"));
}

void PngWriter::on_write(png_structp png, png_bytep data, size_t bytes) {
  auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
  self->error_number_ = self->file_.append(data, static_cast<int64_t>(bytes));
  if (self->error_number_ != 0) png_error(png, "write error");
}

void PngWriter::on_error(png_structp png, png_const_charp message) {
  auto* self = static_cast<PngWriter*>(png_get_error_ptr(png));
  std::snprintf(self->message_, sizeof self->message_, "%s", message);
  png_longjmp(png, 1);
}

void PngWriter::on_warning(png_structp, png_const_charp) {}

int64_t PngWriter::buffered_bytes(int64_t columns, int64_t channels) {
  // Four rows (this one, the one above, two filtered), deflate's 268 KiB at its largest window, the output
  // chunk, and some to spare: measured growth was 8 KiB above the sum with 384 KiB here.
  constexpr int64_t kFixed = 512 * 1024;
  return kFixed + 4 * (columns * channels + 64);
}

}  // namespace headroom
