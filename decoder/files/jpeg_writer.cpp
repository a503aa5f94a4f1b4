#include "decoder/files/row_writer.h"

// clang-format off
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <jpeglib.h>
// clang-format on

#include <array>
#include <csetjmp>
#include <string>

#include "decoder/base/errors.h"

// No object with a destructor may be created between setjmp() and longjmp(). So each try_ function below
// only makes a few C calls on members.

namespace headroom {

/// libjpeg's structures. They point to one another, so they must not move.
struct JpegWriter::Encoder {
  explicit Encoder(WrittenFile& to) : file(to) {
    codec.err = jpeg_std_error(&errors);
    codec.client_data = this;
    errors.error_exit = on_error;
    errors.output_message = [](j_common_ptr) {};
  }
  ~Encoder() { jpeg_destroy_compress(&codec); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// May longjmp(), because libjpeg allocates memory.
  void create() {
    jpeg_create_compress(&codec);
    target.init_destination = [](j_compress_ptr jpeg) { self(jpeg).rewind(); };
    target.empty_output_buffer = [](j_compress_ptr jpeg) -> boolean {
      self(jpeg).append(self(jpeg).bytes.size());  // libjpeg's rule: write all, ignore free_in_buffer
      self(jpeg).rewind();
      return TRUE;
    };
    target.term_destination = [](j_compress_ptr jpeg) {
      self(jpeg).append(self(jpeg).bytes.size() - self(jpeg).target.free_in_buffer);
    };
    codec.dest = &target;
  }

  static Encoder& self(j_compress_ptr jpeg) { return *static_cast<Encoder*>(jpeg->client_data); }
  [[noreturn]] static void on_error(j_common_ptr jpeg) {
    auto* encoder = static_cast<Encoder*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, encoder->message);
    longjmp(encoder->jump, 1);
  }
  void rewind() {
    target.next_output_byte = bytes.data();
    target.free_in_buffer = bytes.size();
  }
  void append(size_t count) {
    error_number = file.append(bytes.data(), static_cast<int64_t>(count));
    if (error_number != 0) longjmp(jump, 1);
  }

  WrittenFile& file;
  jpeg_compress_struct codec{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr target{};
  jmp_buf jump;
  std::array<uint8_t, 64 * 1024> bytes;
  char message[JMSG_LENGTH_MAX] = "";
  int error_number = 0;  ///< errno of the failed write; 0 if libjpeg itself failed
};

JpegWriter::JpegWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int quality)
    : file_(file),
      columns_(columns),
      rows_(rows),
      channels_(channels),
      rows_left_(rows),
      encoder_(std::make_unique<Encoder>(file)) {
  if (!try_begin(quality)) fail();
}

JpegWriter::~JpegWriter() = default;

void JpegWriter::write_rows(const uint8_t* pixels, int64_t rows) {
  if (!encoder_ || rows > rows_left_ || !try_rows(pixels, rows)) fail();
  rows_left_ -= rows;
  if (rows_left_ > 0) return;
  if (!try_end()) fail();
  encoder_.reset();
}

bool JpegWriter::try_begin(int quality) {
  jpeg_compress_struct& codec = encoder_->codec;
  if (setjmp(encoder_->jump)) return false;
  encoder_->create();
  codec.image_width = static_cast<JDIMENSION>(columns_);
  codec.image_height = static_cast<JDIMENSION>(rows_);
  codec.input_components = static_cast<int>(channels_);
  codec.in_color_space = channels_ == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, quality, TRUE);
  codec.comp_info[0].h_samp_factor = codec.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&codec, TRUE);
  return true;
}

bool JpegWriter::try_rows(const uint8_t* pixels, int64_t rows) {
  if (setjmp(encoder_->jump)) return false;
  for (int64_t row = 0; row < rows; ++row) {
    auto* line = const_cast<JSAMPROW>(pixels + row * columns_ * channels_);  // libjpeg only reads it
    jpeg_write_scanlines(&encoder_->codec, &line, 1);
  }
  return true;
}

bool JpegWriter::try_end() {
  if (setjmp(encoder_->jump)) return false;
  jpeg_finish_compress(&encoder_->codec);
  return true;
}

void JpegWriter::fail() const {
  if (encoder_ && encoder_->error_number != 0) file_.fail(encoder_->error_number);
  const std::string why = encoder_ && encoder_->message[0] != '\0' ? encoder_->message : "failed";
  throw DeviceError(file_.name().string() + ": cannot be written: libjpeg: " + why);
}

int64_t JpegWriter::buffered_bytes(int64_t columns, int64_t channels) {
  // The output buffer and libjpeg's tables and pools are fixed. Each column adds the rows of a few blocks:
  // as input, as luma and chroma, and as 16-bit coefficients.
  constexpr int64_t kFixed = 256 * 1024, kRows = 64;
  return kFixed + kRows * columns * channels;
}

}  // namespace headroom
