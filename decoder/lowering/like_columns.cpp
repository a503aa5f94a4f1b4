#include "decoder/lowering/like_columns.h"

#include <map>
#include <numeric>

#include "decoder/lowering/tiles.h"

namespace headroom {

std::vector<size_t> like_columns(const Graph& graph, const Pass& pass, const Extent& latent) {
  std::vector<size_t> like(pass.tiles.x.size());
  std::iota(like.begin(), like.end(), size_t{0});
  std::map<std::vector<int64_t>, size_t> first;
  std::vector<int64_t> widths(pass.steps.size());
  for (size_t i = 1; i + 1 < like.size(); ++i) {
    for (size_t s = 0; s < pass.steps.size(); ++s) {
      Step measured = pass.steps[s];
      measured.tensor = measured_tensor(measured);
      widths[s] = tile_columns(graph, pass, measured, pass.tiles.x[i], latent).length();
    }
    like[i] = first.try_emplace(widths, i).first->second;
  }
  return like;
}

}  // namespace headroom
