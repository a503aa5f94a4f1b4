#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// round(clamp(value / 2 + 0.5, 0, 1) * 255), ties to even as numpy rounds; NaN gives 0.
void quantise(const float* values, int64_t count, uint8_t* out);

/// The shape. Throws InputError, which names `path`, unless there are 1 or 3 channels and fewer than 2^31
/// rows and columns: what formats of 8 bits for the screen take.
const PictureShape& require_eight_bit_shape(const PictureShape& shape, const std::filesystem::path& path);

}  // namespace headroom
