#include "decoder/files/output_format.h"

#include <array>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/file_sinks.h"
#include "decoder/files/npy.h"
#include "decoder/files/picture_sink.h"

namespace headroom {
namespace {

struct OutputSuffix {
  const char* suffix;
  OutputFormat format;
};

constexpr std::array kOutputSuffixes{OutputSuffix{".png", OutputFormat::png},
                                     OutputSuffix{".jpg", OutputFormat::jpeg},
                                     OutputSuffix{".jpeg", OutputFormat::jpeg},
                                     OutputSuffix{".webp", OutputFormat::webp},
                                     OutputSuffix{".y4m", OutputFormat::y4m},
                                     OutputSuffix{".npy", OutputFormat::npy},
                                     OutputSuffix{".safetensors", OutputFormat::safetensors}};

std::optional<OutputFormat> format_of_suffix(const std::string& suffix_in_any_case) {
  const std::string suffix = lower_case(suffix_in_any_case);
  for (const OutputSuffix& known : kOutputSuffixes) {
    if (suffix == known.suffix) return known.format;
  }
  return std::nullopt;
}

}  // namespace

OutputFormat output_format(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (const std::optional<OutputFormat> format = format_of_suffix(suffix)) return *format;
  if (suffix.empty() && !path.empty()) return OutputFormat::frame_folder;
  throw InputError(
      path.string() +
      ": expected an output in .png, .jpg, .webp, .y4m, .npy or .safetensors, or a folder without "
      "a suffix");
}

bool has_quality(const std::filesystem::path& path) {
  const std::optional<OutputFormat> format = format_of_suffix(path.extension().string());
  return format == OutputFormat::jpeg || format == OutputFormat::webp;
}

std::vector<std::string> output_suffixes() {
  std::vector<std::string> suffixes;
  suffixes.reserve(std::size(kOutputSuffixes));
  for (const OutputSuffix& known : kOutputSuffixes) suffixes.emplace_back(known.suffix);
  return suffixes;
}

namespace {

/// A stream without a suffix gets the format that most readers accept: PNG for a picture, Y4M for a clip.
OutputFormat format_of(const std::filesystem::path& path, const PictureShape& shape) {
  if (!is_stream(path)) return output_format(path);
  if (shape.items > 1) {
    throw InputError(path.string() + ": expected a file or folder for " + std::to_string(shape.items) +
                     " items, found a stream, which takes one");
  }
  if (path.has_extension()) return output_format(path);
  return shape.frames > 1 ? OutputFormat::y4m : OutputFormat::png;
}

}  // namespace

std::unique_ptr<PictureSink> open_sink(const std::filesystem::path& path, const PictureShape& shape,
                                       const FrameRate& rate, int quality) {
  switch (format_of(path, shape)) {
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
  if (shape.frames == 1 && shape.items == 1 && path.has_filename() && !path.has_extension() &&
      !is_stream(path) && !is_folder_at(path)) {
    throw InputError(path.string() + ": a picture is a file; did you mean " + path.string() + ".png? (" +
                     path.string() + "/ makes a folder)");
  }
  switch (format_of(path, shape)) {
    case OutputFormat::png:
      return RowSink::check(path, shape, RowFormat::png);
    case OutputFormat::jpeg:
      return RowSink::check(path, shape, RowFormat::jpeg);
    case OutputFormat::webp:
      return RowSink::check(path, shape, RowFormat::webp);
    case OutputFormat::y4m:
      return Y4mSink::check(path, shape);
    case OutputFormat::frame_folder:
      return FrameFolderSink::check(path, shape);
    case OutputFormat::npy:
    case OutputFormat::safetensors:
      return;
  }
}

int64_t sink_buffered_bytes(const std::filesystem::path& path, const PictureShape& shape) {
  switch (format_of(path, shape)) {
    case OutputFormat::png:
      return RowSink::buffered_bytes(shape, RowFormat::png);
    case OutputFormat::jpeg:
      return RowSink::buffered_bytes(shape, RowFormat::jpeg);
    case OutputFormat::webp:
      return RowSink::buffered_bytes(shape, RowFormat::webp);
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
