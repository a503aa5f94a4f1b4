#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "decoder/base/errors.h"
#include "decoder/pictures/read_picture.h"

// No object with a destructor may be created between setjmp() and longjmp(). So each try_ function below only
// makes a few C calls on members.

namespace headroom {
namespace {

class PngReader {
 public:
  PngReader(const std::string& bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {
    codec_ =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (codec_ != nullptr) info_ = png_create_info_struct(codec_);
    if (info_ == nullptr) throw DeviceError(origin + ": no memory for its reader");
  }
  ~PngReader() { png_destroy_read_struct(&codec_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Pixels read(PixelPart part) {
    if (!try_head()) fail();
    Pixels pixels;
    pixels.rows = png_get_image_height(codec_, info_);
    pixels.columns = png_get_image_width(codec_, info_);
    pixels.channels = png_get_channels(codec_, info_);
    require_picture_size(pixels.columns, pixels.rows, origin_);
    if (part == PixelPart::size) return pixels;
    pixels.values.resize(static_cast<size_t>(pixels.rows * pixels.columns * pixels.channels));
    std::vector<png_bytep> lines(static_cast<size_t>(pixels.rows));
    for (size_t y = 0; y < lines.size(); ++y)
      lines[y] = pixels.values.data() + y * static_cast<size_t>(pixels.columns * pixels.channels);
    if (!try_rows(lines.data())) fail();
    return pixels;
  }

 private:
  bool try_head() {
    if (setjmp(jump_)) return false;
    png_set_read_fn(codec_, this, take);
    png_read_info(codec_, info_);
    png_set_expand(
        codec_);  // palettes become RGB, fewer than 8 bits become 8, and transparency becomes alpha
    png_set_scale_16(codec_);
    const png_byte type = png_get_color_type(codec_, info_);
    const bool gray = (type & PNG_COLOR_MASK_COLOR) == 0;
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(codec_, info_, PNG_INFO_tRNS) != 0;
    if (gray && alpha) png_set_gray_to_rgb(codec_);
    png_set_interlace_handling(codec_);
    png_read_update_info(codec_, info_);
    return true;
  }
  bool try_rows(png_bytepp lines) {
    if (setjmp(jump_)) return false;
    png_read_image(codec_, lines);
    png_read_end(codec_, nullptr);
    return true;
  }
  [[noreturn]] void fail() const { throw InputError(origin_ + ": not a valid PNG file: " + message_); }

  static void take(png_structp codec, png_bytep to, size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(codec));
    if (count > self->bytes_.size() - self->next_) png_error(codec, "it ends too early");
    std::memcpy(to, self->bytes_.data() + self->next_, count);
    self->next_ += count;
  }
  [[noreturn]] static void on_error(png_structp codec, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(codec));
    std::strncpy(self->message_, message, sizeof self->message_ - 1);
    longjmp(self->jump_, 1);
  }

  const std::string& bytes_;
  const std::string& origin_;
  size_t next_ = 0;
  png_structp codec_ = nullptr;
  png_infop info_ = nullptr;
  jmp_buf jump_;
  char message_[128] = "";
};

}  // namespace

Pixels read_png(const std::string& bytes, const std::string& origin, PixelPart part) {
  return PngReader(bytes, origin).read(part);
}

}  // namespace headroom
