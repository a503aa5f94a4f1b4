#pragma once

#include <cstdint>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"

namespace headroom::test {

/// Reference decode of one item, untiled, operation by operation, in plain loops and double. Shares no code
/// with halos, tiles, steps or phases. Takes the latent and returns the picture of that shape, both as
/// C×T×H×W. The library compiles it with -O1 for all tests, which are at -O0.
Array plain_decode(const Model& model, const Extent& latent_extent, uint64_t seed, const Array& latent,
                   const std::vector<int64_t>& shape);

}  // namespace headroom::test
