#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/operations/operation.h"

namespace headroom {

/// Fills a parameter from a seed, with the same bits as tests/reference/random_weights.py. The values do not
/// depend on other parameters or on the order of calls. The generator is stated in docs/formats.md. `out` has
/// room for all elements of the shape. Throws InputError where the shape is empty or an extent is below 1.
void fill_random(const Parameter& parameter, uint64_t seed, float* out);
/// Fills only the elements of `range`; `out` has room for that many.
void fill_random(const Parameter& parameter, uint64_t seed, const Interval& range, float* out);

/// A latent of unit variance from the same generator, under the name "latent".
Array random_latent(std::vector<int64_t> shape, uint64_t seed);

}  // namespace headroom
