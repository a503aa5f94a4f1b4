#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "decoder/plan/recipe.h"

namespace headroom::profiler {

/// Tiles as they lie in the picture: rows of them from the top, in each from the left.
using TileRows = std::vector<std::vector<at::Tensor>>;

/// One row of tiles side by side, as diffusers' code blends it: each is faded where it is, which those behind
/// and below it read, and what comes after the fades is copied. Positions are those that share a weight.
at::Tensor blended_row(const TileRows& tiles, size_t row, const Recipe& recipe);

}  // namespace headroom::profiler
