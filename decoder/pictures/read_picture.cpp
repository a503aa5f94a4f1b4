#include "decoder/pictures/read_picture.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 30;
constexpr int64_t kMostPixels = int64_t{1} << 28;
constexpr size_t kMostFrames = 100'000;

std::vector<std::filesystem::path> frames_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(".")) files.push_back(at->path());
    if (files.size() > kMostFrames) throw InputError(printable(folder.string()) + ": too many files");
  }
  if (error) throw InputError(printable(folder.string()) + ": " + error.message());
  if (files.empty())
    throw InputError(printable(folder.string()) + ": expected the frames of a clip, found no file");
  std::sort(files.begin(), files.end());
  return files;
}

/// Writes a picture's planes as frame `frame` of `frames`.
void put_frame(const Pixels& pixels, int64_t channels, int64_t frame, int64_t frames, Array& to) {
  const int64_t positions = pixels.rows * pixels.columns;
  for (int64_t c = 0; c < channels; ++c) {
    float* plane = to.values.data() + (c * frames + frame) * positions;
    const int64_t from = pixels.channels == 1 ? 0 : c;
    for (int64_t i = 0; i < positions; ++i)
      plane[i] =
          static_cast<float>(pixels.values[static_cast<size_t>(i * pixels.channels + from)]) / 127.5f - 1;
  }
}

void require_channels(const Pixels& pixels, int64_t channels, const std::string& origin) {
  const bool gray = pixels.channels == 1 && channels == 3;
  if (gray || pixels.channels >= channels) return;
  throw InputError(origin + ": expected " + std::to_string(channels) + " channels, found " +
                   std::to_string(pixels.channels));
}

}  // namespace

void require_picture_size(int64_t columns, int64_t rows, const std::string& origin) {
  if (columns >= 1 && rows >= 1 && columns <= kMostPixels / rows) return;
  throw InputError(origin + ": expected at most " + std::to_string(kMostPixels) + " pixels, found " +
                   std::to_string(columns) + "x" + std::to_string(rows));
}

Pixels read_pixels(const std::filesystem::path& file, PixelPart part) {
  const std::string origin = printable(file.string()), bytes = read_text_file(file, kMostFileBytes);
  if (bytes.starts_with("\x89PNG")) return read_png(bytes, origin, part);
  if (bytes.starts_with("\xFF\xD8")) return read_jpeg(bytes, origin, part);
  if (bytes.starts_with("RIFF") && bytes.find("WEBP", 8) == 8) return read_webp(bytes, origin, part);
  throw InputError(origin + ": expected a PNG, JPEG or WebP file");
}

Array read_picture(const std::filesystem::path& path, int64_t channels) {
  const bool clip = std::filesystem::is_directory(path);
  const std::vector<std::filesystem::path> files = clip ? frames_in(path) : std::vector{path};
  const auto frames = static_cast<int64_t>(files.size());
  Array array;
  int64_t rows = 0, columns = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const Pixels pixels = read_pixels(files[i]);
    const std::string origin = printable(files[i].string());
    require_channels(pixels, channels, origin);
    if (i == 0) {
      rows = pixels.rows, columns = pixels.columns;
      require_picture_size(columns, rows * frames, printable(path.string()));
      array.shape = {1, channels, rows, columns};
      if (clip) array.shape.insert(array.shape.begin() + 2, frames);
      array.values.resize(static_cast<size_t>(channels * frames * rows * columns));
    }
    if (pixels.rows != rows || pixels.columns != columns) {
      throw InputError(origin + ": expected " + std::to_string(columns) + "x" + std::to_string(rows) +
                       " as the frames before it, found " + std::to_string(pixels.columns) + "x" +
                       std::to_string(pixels.rows));
    }
    put_frame(pixels, channels, static_cast<int64_t>(i), frames, array);
  }
  return array;
}

}  // namespace headroom
