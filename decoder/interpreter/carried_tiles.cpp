#include "decoder/interpreter/carried_tiles.h"

namespace headroom {

void CarriedTiles::begin_pass(const Pass& pass) {
  pass_ = &pass;
  axis_ = pass.carried_axis();
  buffers_.assign(pass.tiles.x.size(), std::vector<DeviceTile>(pass.steps.size()));
  if (axis_ != Axis::y || pass.tiles.y.size() < 2) return;
  for (size_t step = 0; step < pass.steps.size(); ++step) {
    if (carried_positions(pass, pass.steps[step]) > 0) allocate_for_all_columns(step);
  }
}

void CarriedTiles::allocate_for_all_columns(size_t slot) {
  const Step& step = pass_->steps[slot];
  const int64_t rows = carried_positions(*pass_, step);
  std::vector<Interval> columns;
  std::vector<int64_t> begins;
  int64_t across = 0;
  for (size_t column = 0; column < buffers_.size(); ++column) {
    columns.push_back(axis_of(step, Axis::x).present(pass_->tiles.x[column]));
    begins.push_back(across);
    across += columns.back().length();
  }
  const DeviceTile all = allocate(step, {{0, 1}, {0, rows}, {0, across}});
  for (size_t column = 0; column < columns.size(); ++column) {
    DeviceTile& own = buffers_[column][slot] = all;
    own.view.region.x = columns[column];
    const int64_t skipped = begins[column] * rows * all.view.channels * bytes_per_element(all.view.dtype);
    for (void*& block : own.view.blocks) block = static_cast<std::byte*>(block) + skipped;
  }
}

DeviceTile CarriedTiles::allocate(const Step& step, const Region& region) {
  events_.allocating(MemoryKind::workspace, step.tensor);
  DeviceTile tile = device_.make_tile(region, graph_.tensor(step.tensor).channels, sizes_.items);
  events_.holds_tile(tile.view.blocks[0]);
  return tile;
}

Region CarriedTiles::take(size_t step, const Region& region, const MapView& tile) {
  const DeviceTile& carried = buffer(step);
  if (carried.empty() || index_along_axis() == 0) return region;
  const Interval& grid = at(pass_->tiles, axis_)[index_along_axis()];
  const int64_t fresh = axis_of(pass_->steps[step], axis_).made(grid).begin;
  Region earlier = region, own = region;
  at(earlier, axis_).end = at(own, axis_).begin = fresh;
  device_.copy(carried.view, tile, earlier, sizes_.items);
  return own;
}

void CarriedTiles::save(size_t slot, const MapView& made) {
  const Step& step = pass_->steps[slot];
  const std::vector<Interval>& grid = at(pass_->tiles, axis_);
  const int64_t positions = carried_positions(*pass_, step);
  if (positions == 0 || index_along_axis() + 1 == grid.size()) return;
  // The tile after it may begin with fewer positions than its halo has, near the picture's beginning.
  const Interval& next = grid[index_along_axis() + 1];
  const TileAxis axis = axis_of(step, axis_);
  const Interval kept{axis.present(next).begin, axis.made(next).begin};
  Region region = made.region;
  at(region, axis_) = {kept.begin, kept.begin + positions};
  DeviceTile& buffer_of_step = buffer(slot);
  if (buffer_of_step.empty()) buffer_of_step = allocate(step, region);
  at(buffer_of_step.view.region, axis_) = at(region, axis_) = kept;
  device_.copy(made, buffer_of_step.view, region, sizes_.items);
}

void CarriedTiles::end_column() {
  if (axis_ == Axis::t) buffers_[place_.x].assign(pass_->steps.size(), {});
}

}  // namespace headroom
