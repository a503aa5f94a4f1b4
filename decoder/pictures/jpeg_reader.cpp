// clang-format off
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "decoder/base/errors.h"
#include "decoder/pictures/read_picture.h"

// No object with a destructor may be created between setjmp() and longjmp(). So each try_ function below only
// makes a few C calls on members.

namespace headroom {
namespace {

constexpr uint32_t kOrientation = 0x0112;
constexpr size_t kEntryBytes = 12;

/// Unsigned number of `size` bytes in the byte order of the file; nullopt beyond its end.
std::optional<uint32_t> number(std::string_view tiff, bool little, size_t at, size_t size) {
  if (at > tiff.size() || size > tiff.size() - at) return {};
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | static_cast<uint8_t>(tiff[at + (little ? size - 1 - i : i)]);
  return value;
}

uint32_t orientation_of(std::string_view tiff) {
  const bool little = tiff.starts_with("II");
  if (!little && !tiff.starts_with("MM")) return 1;
  const auto first = number(tiff, little, 4, 4);
  const auto entries = first ? number(tiff, little, *first, 2) : first;
  for (uint32_t i = 0; entries && i < *entries; ++i) {
    const size_t entry = *first + 2 + i * kEntryBytes;
    if (number(tiff, little, entry, 2) == kOrientation) return number(tiff, little, entry + 8, 2).value_or(1);
  }
  return 1;
}

/// Throws InputError if the data of a JPEG file's APP1 marker asks to rotate
/// or mirror the picture (tag 0x0112, EXIF 2.32, 4.6.4). Data that is not EXIF passes.
void require_upright(std::string_view data, const std::string& origin) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (data.starts_with(kPrefix)) data.remove_prefix(kPrefix.size());
  const uint32_t orientation = orientation_of(data);
  if (orientation >= 2 && orientation <= 8) {
    throw InputError(origin + ": its EXIF data asks to turn the picture (orientation " +
                     std::to_string(orientation) +
                     "). Turn it first, as with exiftran -a, or remove the EXIF data");
  }
}

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMostMarkerBytes = 0xFFFF;

class JpegReader {
 public:
  JpegReader(const std::string& bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {
    codec_.err = jpeg_std_error(&errors_);
    codec_.client_data = this;
    errors_.error_exit = on_error;
    errors_.output_message = [](j_common_ptr) {};
  }
  ~JpegReader() { jpeg_destroy_decompress(&codec_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Pixels read(PixelPart part) {
    if (!try_head()) fail();
    for (const jpeg_marker_struct* marker = codec_.marker_list; marker != nullptr; marker = marker->next)
      require_upright({reinterpret_cast<const char*>(marker->data), marker->data_length}, origin_);
    require_picture_size(codec_.image_width, codec_.image_height, origin_);
    const bool gray = codec_.num_components == 1;
    if (!gray && codec_.num_components != 3)
      throw InputError(origin_ + ": expected gray or RGB, found " + std::to_string(codec_.num_components) +
                       " colour channels");
    codec_.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    Pixels pixels{codec_.image_height, codec_.image_width, codec_.num_components, {}};
    if (part == PixelPart::size) return pixels;
    pixels.values.resize(static_cast<size_t>(pixels.rows * pixels.columns * pixels.channels));
    if (!try_rows(pixels.values.data())) fail();
    if (errors_.num_warnings > 0) fail();  // libjpeg fills what a truncated file lacks
    return pixels;
  }

 private:
  bool try_head() {
    if (setjmp(jump_)) return false;
    jpeg_create_decompress(&codec_);
    jpeg_save_markers(&codec_, kExifMarker, kMostMarkerBytes);
    jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&codec_, TRUE);
    return true;
  }
  bool try_rows(uint8_t* to) {
    if (setjmp(jump_)) return false;
    jpeg_start_decompress(&codec_);
    while (codec_.output_scanline < codec_.output_height) {
      JSAMPROW line = to + static_cast<size_t>(codec_.output_scanline) * codec_.output_width *
                               static_cast<size_t>(codec_.output_components);
      jpeg_read_scanlines(&codec_, &line, 1);
    }
    jpeg_finish_decompress(&codec_);
    return true;
  }
  [[noreturn]] void fail() {
    if (message_[0] == '\0') errors_.format_message(reinterpret_cast<j_common_ptr>(&codec_), message_);
    throw InputError(origin_ + ": not a valid JPEG file: " + message_);
  }
  [[noreturn]] static void on_error(j_common_ptr jpeg) {
    auto* self = static_cast<JpegReader*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, self->message_);
    longjmp(self->jump_, 1);
  }

  const std::string& bytes_;
  const std::string& origin_;
  jpeg_decompress_struct codec_{};
  jpeg_error_mgr errors_{};
  jmp_buf jump_;
  char message_[JMSG_LENGTH_MAX] = "";
};

}  // namespace

Pixels read_jpeg(const std::string& bytes, const std::string& origin, PixelPart part) {
  return JpegReader(bytes, origin).read(part);
}

}  // namespace headroom
