#include "decoder/files/array_sink.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/frame_folder_sink.h"
#include "decoder/files/npy.h"
#include "decoder/files/output_format.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_sink.h"
#include "decoder/files/y4m_sink.h"

namespace headroom {

std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape,
                                       const FrameRate& rate, int quality) {
  switch (output_format(path)) {
    case OutputFormat::png:
      return std::make_unique<RowSink>(path, shape, RowFormat::png, quality);
    case OutputFormat::jpeg:
      return std::make_unique<RowSink>(path, shape, RowFormat::jpeg, quality);
    case OutputFormat::webp:
      return std::make_unique<RowSink>(path, shape, RowFormat::webp, quality);
    case OutputFormat::y4m:
      return std::make_unique<Y4mSink>(path, shape, rate);
    case OutputFormat::frame_folder:
      return std::make_unique<FrameFolderSink>(path, shape);
    case OutputFormat::npy:
      return std::make_unique<ArraySink>(path, shape, make_npy_header);
    case OutputFormat::safetensors:
      break;
  }
  return std::make_unique<ArraySink>(path, shape, make_safetensors_header);
}

void check_output(const std::filesystem::path& path, const PictureShape& shape) {
  switch (output_format(path)) {
    case OutputFormat::png:
      return RowSink::check(path, shape, RowFormat::png);
    case OutputFormat::jpeg:
      return RowSink::check(path, shape, RowFormat::jpeg);
    case OutputFormat::webp:
      return RowSink::check(path, shape, RowFormat::webp);
    case OutputFormat::y4m:
      require_eight_bit_shape(shape, path);
      return;
    case OutputFormat::frame_folder:
      require_eight_bit_shape(shape, path / "");
      return;
    case OutputFormat::npy:
    case OutputFormat::safetensors:
      return;
  }
}

int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape, int64_t band_rows) {
  switch (output_format(path)) {
    case OutputFormat::png:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::png);
    case OutputFormat::jpeg:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::jpeg);
    case OutputFormat::webp:
      return RowSink::buffered_bytes(shape, band_rows, RowFormat::webp);
    case OutputFormat::y4m:
      return Y4mSink::buffered_bytes();
    case OutputFormat::frame_folder:
      return FrameFolderSink::buffered_bytes(shape);
    case OutputFormat::npy:
    case OutputFormat::safetensors:
      break;
  }
  return ArraySink::buffered_bytes();
}

}  // namespace headroom
