#include "decoder/lowering/like_tiles.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "decoder/lowering/tiles.h"

namespace headroom {

std::vector<size_t> like_columns(const Graph& graph, const Pass& pass, const Extent& latent) {
  std::vector<size_t> like(pass.tiles.x.size());
  std::iota(like.begin(), like.end(), size_t{0});
  std::map<std::vector<int64_t>, size_t> first;
  const std::vector<Step> steps = measured_steps(pass);
  std::vector<int64_t> widths(steps.size());
  for (size_t i = 1; i + 1 < like.size(); ++i) {
    for (size_t s = 0; s < steps.size(); ++s)
      widths[s] = tile_positions(graph, pass, steps[s], Axis::x, pass.tiles.x[i], latent).length();
    like[i] = first.try_emplace(widths, i).first->second;
  }
  return like;
}

std::vector<size_t> like_chunks(const Graph& graph, const Pass& pass, const Extent& latent) {
  std::vector<size_t> like(pass.tiles.t.size());
  std::iota(like.begin(), like.end(), size_t{0});
  const bool attends = std::any_of(pass.steps.begin(), pass.steps.end(),
                                   [](const Step& step) { return step.kind == StepKind::attention; });
  if (attends) return like;
  std::map<std::vector<int64_t>, size_t> first;
  const std::vector<Step> steps = measured_steps(pass);
  std::vector<int64_t> frames(2 * steps.size());
  for (size_t i = 1; i + 1 < like.size(); ++i) {
    for (size_t s = 0; s < steps.size(); ++s) {
      frames[2 * s] = fresh_positions(graph, pass, steps[s], Axis::t, pass.tiles.t[i], latent).length();
      frames[2 * s + 1] = tile_positions(graph, pass, steps[s], Axis::t, pass.tiles.t[i], latent).length();
    }
    like[i] = first.try_emplace(frames, i).first->second;
  }
  return like;
}

}  // namespace headroom
