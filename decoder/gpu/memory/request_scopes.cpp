#include "decoder/gpu/memory/request_scopes.h"

#include <algorithm>
#include <numeric>

#include "decoder/schedule/tile_classes.h"

namespace headroom {
namespace {

/// For each column of tiles, or chunk of frames, the first one with the same memory requests. The first and
/// the last one equal no other: the first column allocates blocks, and frames are carried from the first
/// chunk up to the last.
std::vector<size_t> like(const Graph& graph, const Pass& pass, Axis axis, const Extent& latent) {
  const std::vector<Interval>& tiles = at(pass.tiles, axis);
  std::vector<size_t> like(tiles.size());
  std::iota(like.begin(), like.end(), size_t{0});
  // The workspace of attention depends on the number of key frames so far, so chunks differ.
  const bool attends = std::any_of(pass.steps.begin(), pass.steps.end(),
                                   [](const Step& step) { return step.kind == OpKind::attention; });
  if (axis == Axis::t && attends) return like;
  const TileClasses found = tile_classes(graph, pass, axis, tiles, latent);
  std::vector<size_t> first(found.classes.size(), like.size());
  for (size_t i = 1; i + 1 < like.size(); ++i) {
    size_t& of_class = first[found.class_of[i]];
    like[i] = of_class = std::min(of_class, i);
  }
  return like;
}

}  // namespace

void RequestScopes::pass_started(const Plan& plan, int32_t number) {
  end_column();
  passes_.push_back(memory_.requests().events().size());
  if (plan.share.alone()) memory_.begin_pass();
  const Pass& pass = plan.passes[static_cast<size_t>(number)];
  columns_.like = like(graph_, pass, Axis::x, latent_);
  chunks_.like = like(graph_, pass, Axis::t, latent_);
  ForwardingEvents::pass_started(plan, number);
}

void RequestScopes::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  const auto number = static_cast<size_t>(pass);
  const Axes<std::vector<Interval>>& grid = plan.passes[number].tiles;
  const size_t chunk = static_cast<size_t>(tile) % grid.t.size();
  const size_t column = static_cast<size_t>(tile) / grid.t.size() % grid.x.size();
  if (chunk == 0) {
    end_column();
    begin(columns_, column);
  }
  end_chunk();
  // A column that repeats another is marked as a whole.
  if (!columns_.repeats) begin(chunks_, chunk);
  memory_.begin_scope();
  ForwardingEvents::tile_started(plan, pass, tile, tiles);
}

void RequestScopes::begin(Tiles& tiles, size_t number) {
  tiles.first_requests.resize(tiles.like.size());
  tiles.first_requests[number] = memory_.requests().count();
  tiles.repeats = tiles.like[number] != number;
  if (tiles.repeats) memory_.begin_repeat(tiles.first_requests[tiles.like[number]]);
}

void RequestScopes::end_chunk() {
  if (chunks_.repeats) memory_.end_repeat();
  chunks_.repeats = false;
}

void RequestScopes::end_column() {
  end_chunk();
  if (columns_.repeats) memory_.end_repeat();
  columns_.repeats = false;
}

}  // namespace headroom
