#include "decoder/files/array_sink.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/frame_folder_sink.h"
#include "decoder/files/npy.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_sink.h"
#include "decoder/files/y4m_sink.h"
#include "decoder/graph/errors.h"

namespace headroom {
namespace {

enum class Format { png, jpeg, webp, y4m, frame_folder, npy, safetensors };

Format format_of(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (suffix == ".png") return Format::png;
  if (suffix == ".jpg" || suffix == ".jpeg") return Format::jpeg;
  if (suffix == ".webp") return Format::webp;
  if (suffix == ".y4m") return Format::y4m;
  if (suffix == ".npy") return Format::npy;
  if (suffix == ".safetensors") return Format::safetensors;
  if (suffix.empty() && !path.empty()) return Format::frame_folder;
  throw InputError(
      path.string() +
      ": expected an output in .png, .jpg, .webp, .y4m, .npy or .safetensors, or a folder without "
      "a suffix");
}

}  // namespace

std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape,
                                       const FrameRate& rate, int quality) {
  switch (format_of(path)) {
    case Format::png:
      return std::make_unique<RowSink>(path, shape, RowFormat::png, quality);
    case Format::jpeg:
      return std::make_unique<RowSink>(path, shape, RowFormat::jpeg, quality);
    case Format::webp:
      return std::make_unique<RowSink>(path, shape, RowFormat::webp, quality);
    case Format::y4m:
      return std::make_unique<Y4mSink>(path, shape, rate);
    case Format::frame_folder:
      return std::make_unique<FrameFolderSink>(path, shape);
    case Format::npy:
      return std::make_unique<ArraySink>(path, shape, make_npy_header);
    case Format::safetensors:
      break;
  }
  return std::make_unique<ArraySink>(path, shape, make_safetensors_header);
}

void check_output(const std::filesystem::path& path, const PictureShape& shape) {
  switch (format_of(path)) {
    case Format::png:
      return RowSink::check(path, shape, RowFormat::png);
    case Format::jpeg:
      return RowSink::check(path, shape, RowFormat::jpeg);
    case Format::webp:
      return RowSink::check(path, shape, RowFormat::webp);
    case Format::y4m:
      require_eight_bit_shape(shape, path);
      return;
    case Format::frame_folder:
      require_eight_bit_shape(shape, path / "");
      return;
    case Format::npy:
    case Format::safetensors:
      return;
  }
}

int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape, int64_t band_rows) {
  switch (format_of(path)) {
    case Format::png:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::png);
    case Format::jpeg:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::jpeg);
    case Format::webp:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::webp);
    case Format::y4m:
      return Y4mSink::buffered_bytes();
    case Format::frame_folder:
      return FrameFolderSink::buffered_bytes(shape);
    case Format::npy:
    case Format::safetensors:
      break;
  }
  return ArraySink::buffered_bytes();
}

}  // namespace headroom
