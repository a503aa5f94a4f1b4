#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/files/array.h"

namespace headroom {

/// Throws the InputError of a layer that has made a value that is not finite: what is read is finite, so it
/// was too large.
[[noreturn]] void stop_not_finite(const std::string& layer);
/// Throws it where one of these values is not finite.
void require_finite(const float* values, int64_t count, const std::string& layer);
/// Items of a latent, from planes, to pixels with their channels side by side, item by item in `items`.
void interleave_planes(const Array& latent, int64_t first_item, int64_t channels, int64_t positions,
                       const std::vector<float*>& items);

}  // namespace headroom
