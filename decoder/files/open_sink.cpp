#include "decoder/files/array_sink.h"
#include "decoder/files/npy.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/png_sink.h"
#include "decoder/graph/errors.h"

namespace headroom {
namespace {

[[noreturn]] void refuse_suffix(const std::filesystem::path& path) {
  throw InputError(path.string() + ": expected an output in .png, .npy or .safetensors");
}

}  // namespace

std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape) {
  const std::string suffix = path.extension().string();
  if (suffix == ".png") return std::make_unique<PngSink>(path, shape);
  if (suffix == ".npy") return std::make_unique<ArraySink>(path, shape, make_npy_header);
  if (suffix == ".safetensors") return std::make_unique<ArraySink>(path, shape, make_safetensors_header);
  refuse_suffix(path);
}

int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape, int64_t band_rows) {
  const std::string suffix = path.extension().string();
  if (suffix == ".png") return PngSink::buffered_bytes(shape, band_rows);
  if (suffix == ".npy" || suffix == ".safetensors") return ArraySink::buffered_bytes();
  refuse_suffix(path);
}

}  // namespace headroom
