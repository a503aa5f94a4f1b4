#include "decoder/gpu/request_scopes.h"

#include <utility>

#include "decoder/lowering/like_tiles.h"
#include "decoder/plan/sizes.h"

namespace headroom {
void RequestScopes::pass_started(const Plan& plan, int32_t number) {
  end_column();
  passes_.push_back(memory_.requests().events().size());
  if (plan.share.alone()) memory_.begin_pass();
  const Pass& pass = plan.passes[static_cast<size_t>(number)];
  columns_.like = like_columns(graph_, pass, latent_);
  chunks_.like = like_chunks(graph_, pass, latent_);
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
  // Within a column that repeats another one all is marked.
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
