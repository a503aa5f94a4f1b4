#include "decoder/files/webp_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#ifdef HEADROOM_HAS_WEBP
#include <webp/encode.h>
#endif

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// In the folder of the output, which has room for a picture.
int open_beside(const WrittenFile& file) {
  const std::filesystem::path folder =
      file.name().has_parent_path() ? file.name().parent_path() : std::filesystem::path(".");
  std::string name = (folder / "headroom-webp-XXXXXX").string();
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) file.fail(errno);
  unlink(name.c_str());
  return descriptor;
}

}  // namespace

WebpWriter::WebpWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int quality)
    : file_(file),
      columns_(columns),
      rows_(rows),
      channels_(channels),
      quality_(quality),
      descriptor_(open_beside(file)) {}

WebpWriter::~WebpWriter() {
  close(descriptor_);
}

void WebpWriter::transfer(bool write, uint8_t* bytes, int64_t count, int64_t offset) const {
  while (count > 0) {
    const auto length = static_cast<size_t>(count);
    const ssize_t done =
        write ? pwrite(descriptor_, bytes, length, offset) : pread(descriptor_, bytes, length, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) file_.fail(done < 0 ? errno : EIO);
    bytes += done;
    count -= done;
    offset += done;
  }
}

void WebpWriter::write_rows(const uint8_t* pixels, int64_t rows) {
  const int64_t row_bytes = columns_ * channels_;
  // pwrite() does not change what it writes.
  transfer(true, const_cast<uint8_t*>(pixels), rows * row_bytes, next_row_ * row_bytes);
  next_row_ += rows;
}

int64_t WebpWriter::encoder_bytes(int64_t columns, int64_t rows) {
  // Four bytes of a pixel as it is handed over, one and a half as luma and chroma, and what the encoder keeps
  // of each block of 16×16.
  constexpr int64_t kFixed = 1 << 20, kOfPixel = 8;
  return kFixed + kOfPixel * columns * rows;
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
  config.low_memory = 1;  // a quarter of what a picture of noise takes otherwise
  picture.value.use_argb = 1;
  picture.value.width = static_cast<int>(columns_);
  picture.value.height = static_cast<int>(rows_);
  if (!WebPPictureAlloc(&picture.value)) fail(picture.value.error_code);
  std::vector<uint8_t> row(static_cast<size_t>(columns_ * channels_));
  for (int64_t y = 0; y < rows_; ++y) {
    transfer(false, row.data(), std::ssize(row), y * std::ssize(row));
    uint32_t* out = picture.value.argb + y * picture.value.argb_stride;
    for (size_t x = 0; x < static_cast<size_t>(columns_); ++x) {
      const uint8_t* pixel = row.data() + x * static_cast<size_t>(channels_);
      const uint32_t red = pixel[0], green = channels_ == 1 ? red : pixel[1],
                     blue = channels_ == 1 ? red : pixel[2];
      out[x] = 0xff000000u | red << 16 | green << 8 | blue;
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
