#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decoder/files/array.h"

namespace headroom {

/// Throws InputError: this layer's output is not finite. Inputs are finite, so a value overflowed.
[[noreturn]] void stop_not_finite(const std::string& layer);
/// Calls stop_not_finite() if a value is not finite.
void require_finite(const float* values, int64_t count, const std::string& layer);
/// Throws InputError naming the first value of a latent that is not finite.
void require_finite_latent(std::span<const float> values);
/// Converts items of a latent from planes to channels-last pixels, each item into its buffer of `items`.
void interleave_planes(const ArrayView& latent, int64_t first_item, int64_t channels, int64_t positions,
                       const std::vector<float*>& items);

}  // namespace headroom
