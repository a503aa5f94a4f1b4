#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/base/axes.h"
#include "decoder/files/array.h"
#include "planner/answer/question.h"

namespace headroom {

planner::PictureSize size_of(const Array& array);

/// True for files of pictures: .png, .jpg, .jpeg and .webp.
bool is_picture(const std::filesystem::path& path);

/// Reads the input of an encode: a picture, a folder with the frames of a clip, or an array in .npy or
/// .safetensors[:key]. Returns N×C×H×W or N×C×T×H×W, values from -1 to 1. Throws InputError.
Array read_input(const std::filesystem::path& path, int64_t channels);

/// The largest size within this one that has a latent. 0 along an axis if none has.
Extent cropped(const Extent& extent, const Axes<int32_t>& scale);

/// Keeps the middle of the rows and columns, and the first frames.
Array crop(Array array, const Extent& to);

}  // namespace headroom
