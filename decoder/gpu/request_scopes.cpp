#include "decoder/gpu/request_scopes.h"

#include <utility>

#include "decoder/lowering/like_tiles.h"
#include "decoder/plan/sizes.h"

namespace headroom {
namespace {

/// Drops intervals that are like an earlier one. `multiplicity` counts the dropped ones of each that stays.
std::vector<Interval> once(const std::vector<Interval>& intervals, const std::vector<size_t>& like,
                           std::vector<int64_t>& multiplicity) {
  std::vector<int64_t> lacking(like.size(), 0);
  for (size_t i = 0; i < like.size(); ++i) lacking[like[i]] += like[i] != i;
  std::vector<Interval> left;
  for (size_t i = 0; i < like.size(); ++i) {
    if (like[i] != i) continue;
    left.push_back(intervals[i]);
    multiplicity.push_back(lacking[i]);
  }
  return left;
}

}  // namespace

Plan with_like_tiles_once(const Graph& graph, Plan plan, std::vector<LeftOut>& left_out) {
  const Extent latent = sizes_of(graph, plan).latent;
  for (Pass& pass : plan.passes) {
    LeftOut& of_pass = left_out.emplace_back();
    std::vector<Interval> columns = once(pass.tiles.x, like_columns(graph, pass, latent), of_pass.columns);
    pass.tiles.t = once(pass.tiles.t, like_chunks(graph, pass, latent), of_pass.chunks);
    pass.tiles.x = std::move(columns);
  }
  return plan;
}

void RequestScopes::pass_started(const Plan& plan, int32_t number) {
  end_column();
  passes_.push_back(memory_.requests().events().size());
  if (plan.share.alone()) memory_.begin_pass();
  if (left_out_.empty()) {
    const Pass& pass = plan.passes[static_cast<size_t>(number)];
    columns_.like = like_columns(graph_, pass, latent_);
    chunks_.like = like_chunks(graph_, pass, latent_);
  }
  ForwardingEvents::pass_started(plan, number);
}

void RequestScopes::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  const auto number = static_cast<size_t>(pass);
  const Axes<std::vector<Interval>>& grid = plan.passes[number].tiles;
  const size_t chunk = static_cast<size_t>(tile) % grid.t.size();
  const size_t column = static_cast<size_t>(tile) / grid.t.size() % grid.x.size();
  if (chunk == 0) {
    end_column();
    columns_.stands_for = left_out_.empty() ? 0 : left_out_[number].columns[column];
    begin(columns_, column);
  }
  end_chunk();
  chunks_.stands_for = left_out_.empty() ? 0 : left_out_[number].chunks[chunk];
  // Within a column that repeats another one all is marked.
  if (!columns_.repeats) begin(chunks_, chunk);
  memory_.begin_scope();
  ForwardingEvents::tile_started(plan, pass, tile, tiles);
}

int64_t RequestScopes::finish() {
  end_column();
  return lacking_;
}

void RequestScopes::begin(Tiles& tiles, size_t number) {
  tiles.began = requests();
  if (!left_out_.empty()) return;
  tiles.first_requests.resize(tiles.like.size());
  tiles.first_requests[number] = tiles.began;
  tiles.repeats = tiles.like[number] != number;
  if (tiles.repeats) memory_.begin_repeat(tiles.first_requests[tiles.like[number]]);
}

void RequestScopes::end_chunk() {
  if (chunks_.repeats) memory_.end_repeat();
  chunks_.repeats = false;
  lacking_in_column_ += chunks_.stands_for * (requests() - chunks_.began);
  chunks_.stands_for = 0;
}

void RequestScopes::end_column() {
  end_chunk();
  if (columns_.repeats) memory_.end_repeat();
  columns_.repeats = false;
  const int64_t all = requests() - columns_.began + lacking_in_column_;
  lacking_ += lacking_in_column_ + columns_.stands_for * all;
  lacking_in_column_ = columns_.stands_for = 0;
}

}  // namespace headroom
