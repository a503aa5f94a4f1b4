#include "decoder/files/row_writer.h"

#include <string>
#include <vector>

#ifdef HEADROOM_HAS_WEBP
#include <webp/encode.h>
#endif

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

WebpWriter::WebpWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int quality)
    : file_(file),
      columns_(columns),
      rows_(rows),
      channels_(channels),
      quality_(quality),
      waiting_(open_unnamed_beside(file.name()), file.name()) {}

void WebpWriter::write_rows(const uint8_t* pixels, int64_t rows) {
  const int64_t row_bytes = columns_ * channels_;
  waiting_.write_at(next_row_ * row_bytes, pixels, rows * row_bytes);
  next_row_ += rows;
}

int64_t WebpWriter::encoder_bytes(int64_t columns, int64_t rows, int64_t channels) {
  // Per pixel: 4 bytes of input, 1.5 of luma and chroma, and the encoder's state of 16×16 blocks. With
  // alpha, the lossless encoder dominates: 45 bytes per pixel for noise.
  constexpr int64_t kFixed = 1 << 20, kOfPixel = 8, kWithAlpha = 48;
  return kFixed + (channels == kRgbaChannels ? kWithAlpha : kOfPixel) * columns * rows;
}

#ifdef HEADROOM_HAS_WEBP

bool WebpWriter::is_built() {
  return true;
}

void WebpWriter::finish() {
  struct Picture {
    WebPPicture value;
    ~Picture() { WebPPictureFree(&value); }
  } picture;
  WebPConfig config;
  const auto fail = [&](int code) {
    throw DeviceError(file_.name().string() + ": cannot be written: libwebp: error " + std::to_string(code));
  };
  if (!WebPPictureInit(&picture.value) ||
      !WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, static_cast<float>(quality_)))
    fail(-1);
  config.exact = 1;       // keep colours of transparent pixels
  config.low_memory = 1;  // needs a quarter of the memory for noise
  picture.value.use_argb = 1;
  picture.value.width = static_cast<int>(columns_);
  picture.value.height = static_cast<int>(rows_);
  if (!WebPPictureAlloc(&picture.value)) fail(picture.value.error_code);
  std::vector<uint8_t> row(static_cast<size_t>(columns_ * channels_));
  for (int64_t y = 0; y < rows_; ++y) {
    waiting_.read_at(y * std::ssize(row), row.data(), std::ssize(row));
    uint32_t* out = picture.value.argb + y * picture.value.argb_stride;
    for (size_t x = 0; x < static_cast<size_t>(columns_); ++x) {
      const uint8_t* pixel = row.data() + x * static_cast<size_t>(channels_);
      const uint32_t red = pixel[0], green = channels_ == 1 ? red : pixel[1],
                     blue = channels_ == 1 ? red : pixel[2],
                     alpha = channels_ == kRgbaChannels ? pixel[3] : 0xff;
      out[x] = alpha << 24 | red << 16 | green << 8 | blue;
    }
  }
  struct Target {
    WrittenFile& file;
    int error_number = 0;
  } target{file_};
  picture.value.custom_ptr = &target;
  picture.value.writer = [](const uint8_t* data, size_t bytes, const WebPPicture* from) -> int {
    auto* to = static_cast<Target*>(from->custom_ptr);
    to->error_number = to->file.append(data, static_cast<int64_t>(bytes));
    return to->error_number == 0;
  };
  const bool encoded = WebPEncode(&config, &picture.value) != 0;
  if (target.error_number != 0) file_.fail(target.error_number);
  if (!encoded) fail(picture.value.error_code);
}

#else

bool WebpWriter::is_built() {
  return false;
}

void WebpWriter::finish() {}

#endif

}  // namespace headroom
