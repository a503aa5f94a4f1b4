#include "profiler/libtorch/eager_blend.h"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>

#include <algorithm>

namespace headroom::profiler {
namespace {

/// Fades the last rows or columns of the tile before into the first of this one, one by one.
void fade(const at::Tensor& before, const at::Tensor& tile, int64_t axis, int64_t extent) {
  for (int64_t i = 0; i < extent; ++i) {
    const double share = double(i) / double(extent);
    const at::Tensor own = tile.select(axis, i);
    const at::Tensor last = before.select(axis, before.size(axis) - extent + i);
    own.copy_(at::add(at::mul(last, 1 - share), at::mul(own, share)));
  }
}

}  // namespace

at::Tensor blended_row(const TileRows& tiles, size_t row, const Recipe& recipe) {
  const RecipeTile& rows = recipe.tiles.y[row];
  const int64_t x = tiles[row][0].dim() - 1, y = x - 1;
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < tiles[row].size(); ++i) {
    const RecipeTile& columns = recipe.tiles.x[i];
    const at::Tensor& tile = tiles[row][i];
    if (row > 0) fade(tiles[row - 1][i], tile, y, rows.fade / recipe.step);
    if (i > 0) fade(tiles[row][i - 1], tile, x, columns.fade / recipe.step);
    parts.push_back(tile.narrow(y, 0, rows.output.length() / recipe.step)
                        .narrow(x, 0, columns.output.length() / recipe.step));
  }
  return at::cat(parts, x);
}

}  // namespace headroom::profiler
