#pragma once

#include <ATen/core/Tensor.h>

#include "decoder/runtime/tile.h"

namespace headroom {

/// Convolves a tile, padding nothing: values [N, Y + ky - 1, X + kx - 1, C] give [N, Y, X, O].
/// weight [O, C, ky, kx] in channels-last order, bias [O]. The output tile is allocated by the library.
Tile convolve(const Tile& input, const at::Tensor& weight, const at::Tensor& bias, const Region& output);

}  // namespace headroom
