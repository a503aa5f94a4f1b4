#pragma once

#include <cstdint>
#include <filesystem>
#include <tuple>

#include "decoder/base/axes.h"
#include "decoder/files/array.h"

namespace headroom {

/// Frames, rows and columns of a picture or clip, and its batch.
struct PictureSize {
  Extent extent;
  int64_t batch = 1;
  auto key() const { return std::tuple(batch, extent.t, extent.y, extent.x); }
};
PictureSize size_of(const Array& array);

/// True for files of pictures: .png, .jpg, .jpeg and .webp.
bool is_picture(const std::filesystem::path& path);

/// Reads the input of an encode: a picture, a folder with the frames of a clip, or an array in .npy or
/// .safetensors[:key]. Returns N×C×H×W or N×C×T×H×W, values from -1 to 1. Throws InputError.
Array read_input(const std::filesystem::path& path, int64_t channels);

/// The largest size within this one that has a latent. 0 along an axis if none has.
Extent cropped(const Extent& extent, const Axes<int32_t>& scale);

/// Keeps the middle of the rows and columns, and the first frames.
Array crop(const Array& array, const Extent& to);

}  // namespace headroom
