#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "decoder/files/array.h"

namespace headroom {

/// A decoded picture file: rows of pixels, 8 bits for each channel.
struct Pixels {
  int64_t rows = 0, columns = 0;
  int64_t channels = 0;  ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  std::vector<uint8_t> values;
};

/// How much of a picture file to read. With `size`, Pixels::values stays empty.
enum class PixelPart { size, all };

/// Reads a PNG, JPEG or WebP file, told apart by its content. 16 bits become 8, and a palette becomes RGB.
/// Throws InputError naming the file: it is none of these, damaged, has more than 2^28 pixels, or its EXIF
/// data asks for a rotation.
Pixels read_pixels(const std::filesystem::path& file, PixelPart part = PixelPart::all);

/// Reads a picture, or a folder with the frames of a clip in the order of their names, as an encoder takes
/// it: 1×C×H×W, or 1×C×T×H×W for a folder, from -1 to 1. Gray becomes RGB, and alpha is dropped if `channels`
/// is 3. Throws InputError like read_pixels(), and if frames differ in size or a picture lacks channels.
Array read_picture(const std::filesystem::path& path, int64_t channels);

// One reader for each format. `bytes` is the whole file, and `origin` names it in errors.
Pixels read_png(const std::string& bytes, const std::string& origin, PixelPart part);
Pixels read_jpeg(const std::string& bytes, const std::string& origin, PixelPart part);
Pixels read_webp(const std::string& bytes, const std::string& origin, PixelPart part);

/// Throws InputError if a picture is larger than read_pixels() accepts.
void require_picture_size(int64_t columns, int64_t rows, const std::string& origin);

}  // namespace headroom
