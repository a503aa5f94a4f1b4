#include "decoder/interpreter/tile_steps.h"

#include <algorithm>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/memory.h"

namespace headroom {

void CarriedTiles::begin_pass(size_t number, const Pass& pass) {
  pass_ = &pass;
  number_ = number;
  axis_ = pass.carried_axis();
  if (axis_ != Axis::y || pass.tiles.y.size() < 2) return;
  for (size_t step = 0; step < pass.steps.size(); ++step) {
    if (carried_positions(pass, pass.steps[step]) > 0) allocate_for_all_columns(step);
  }
}

void CarriedTiles::begin_tile(const TilePlace& place) {
  place_ = place;
  own_ = &buffers(place.column, place.band);
}

CarriedTiles::OfSteps& CarriedTiles::buffers(size_t column, size_t band) {
  OfSteps& found = buffers_[{number_, axis_ == Axis::t ? band : 0, column}];
  found.resize(pass_->steps.size());
  return found;
}

void CarriedTiles::allocate_for_all_columns(size_t slot) {
  const Step& step = pass_->steps[slot];
  const int64_t rows = carried_positions(*pass_, step);
  std::vector<Interval> columns;
  std::vector<int64_t> begins;
  int64_t across = 0;
  for (size_t column = 0; column < pass_->tiles.x.size(); ++column) {
    columns.push_back(axis_of(step, Axis::x).present(pass_->tiles.x[column]));
    begins.push_back(across);
    across += columns.back().length();
  }
  const DeviceTile all = allocate(slot, {{0, 1}, {0, rows}, {0, across}});
  for (size_t column = 0; column < columns.size(); ++column) {
    DeviceTile& own = buffers(column, 0)[slot] = all;
    own.view.region.x = columns[column];
    const int64_t skipped = begins[column] * rows * all.view.channels * bytes_per_element(all.view.dtype);
    for (void*& block : own.view.blocks) block = static_cast<std::byte*>(block) + skipped;
  }
}

DeviceTile CarriedTiles::allocate(size_t slot, const Region& region) {
  const TensorId tensor = pass_->steps[slot].tensor;
  const int64_t channels = graph_.tensor(tensor).channels;
  events_.allocating(MemoryKind::workspace, tensor);
  const auto at = [](size_t number) { return static_cast<int64_t>(number); };
  const StatePlace place{.owner = StateOwner::carried_tile,
                         .number = at(slot),
                         .band = at(place_.band),
                         .pass = at(number_),
                         .column = at(place_.column)};
  DeviceTile tile = axis_ == Axis::t ? device_.make_state_tile(place, region, channels, sizes_.items)
                                     : device_.make_tile(region, channels, sizes_.items);
  events_.holds_tile(tile.view.blocks[0]);
  return tile;
}

Region CarriedTiles::take(size_t step, const Region& region, const MapView& tile) {
  const DeviceTile& carried = (*own_)[step];
  if (carried.empty() || along_axis().begin == 0) return region;
  const int64_t fresh = axis_of(pass_->steps[step], axis_).made(along_axis()).begin;
  Region earlier = region, own = region;
  at(earlier, axis_).end = at(own, axis_).begin = fresh;
  device_.copy(carried.view, tile, earlier, sizes_.items);
  return own;
}

void CarriedTiles::save(size_t slot, const MapView& made) {
  const Step& step = pass_->steps[slot];
  const int64_t positions = carried_positions(*pass_, step);
  if (positions == 0 || is_last()) return;
  // The tile after it may begin with fewer positions than its halo has, near the picture's beginning. They
  // do not depend on its length.
  const Interval next{along_axis().end, along_axis().end + 1};
  const TileAxis axis = axis_of(step, axis_);
  const Interval kept{axis.present(next).begin, axis.made(next).begin};
  Region region = made.region;
  at(region, axis_) = {kept.begin, kept.begin + positions};
  DeviceTile& buffer_of_step = (*own_)[slot];
  if (buffer_of_step.empty()) buffer_of_step = allocate(slot, region);
  at(buffer_of_step.view.region, axis_) = at(region, axis_) = kept;
  device_.copy(made, buffer_of_step.view, region, sizes_.items);
}

void CarriedTiles::end_column() {
  if (axis_ == Axis::t && is_last()) buffers_.erase({number_, place_.band, place_.column});
}

void CarriedTiles::end_pass() {
  if (axis_ == Axis::y) buffers_.clear();
}

void CarriedTiles::move_state(StreamState& state, const Plan& plan, const std::vector<int64_t>& done) {
  for (size_t number = 0; number < plan.passes.size(); ++number) {
    const Pass& pass = plan.passes[number];
    if (done[number] == 0) continue;
    begin_pass(number, pass);
    for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
      for (size_t column = 0; column < pass.tiles.x.size(); ++column) {
        const Interval last{done[number] - 1, done[number]};
        move_tiles(state, {band, column, {last, pass.tiles.y[band], pass.tiles.x[column]}});
      }
    }
  }
}

void CarriedTiles::move_tiles(StreamState& state, const TilePlace& place) {
  begin_tile(place);
  for (size_t slot = 0; slot < pass_->steps.size(); ++slot) {
    const Step& step = pass_->steps[slot];
    const int64_t positions_along = carried_positions(*pass_, step);
    if (positions_along == 0) continue;
    DeviceTile& tile = (*own_)[slot];
    if (state.reads()) {
      const Interval next{place.grid.t.end, place.grid.t.end + 1};
      const TileAxis axis = axis_of(step, Axis::t);
      Region region = tile_region(graph_, *pass_, step, place.grid, sizes_.latent);
      region.t = {axis.present(next).begin, axis.present(next).begin + positions_along};
      tile = allocate(slot, region);
      tile.view.region.t.end = axis.made(next).begin;
    }
    const int64_t values = positions(extent_of(tile.view.region)) * tile.view.channels;
    for (void* block : tile.view.blocks)
      state.move(device_, block, values * bytes_per_element(tile.view.dtype));
  }
}

namespace {

/// True for steps that write nothing outside the picture (device.h). Gather, norm and upsample write zeros.
bool leaves_outside(OpKind kind) {
  return kind == OpKind::conv || kind == OpKind::rms_norm || kind == OpKind::modulate;
}

/// Part of a tile in an interval along a carried axis: time, or rows if there is only one frame.
MapView part_along(const MapView& tile, Axis axis, const Interval& positions) {
  Region part = tile.region;
  at(part, axis) = positions;
  return part_of(tile, part.t, part.y);
}

}  // namespace

void TileSteps::begin_pass(size_t number, const Pass& pass) {
  pass_ = &pass;
  last_use_ = last_uses(pass);
  carried_.begin_pass(number, pass);
}

void TileSteps::begin_tile(const TilePlace& place) {
  grid_tile_ = place.grid;
  tiles_.assign(pass_->steps.size(), {});
  carried_.begin_tile(place);
}

void TileSteps::run(size_t slot, int64_t first_item, PictureSink& sink) {
  calls_before_ = 0;
  calls_of_step_ = 1;
  const Step& step = pass_->steps[slot];
  if (acquires_blocks(step)) {
    events_.allocating(MemoryKind::kept, step.tensor);
    kept_.before_store(step.tensor);
  }
  events_.allocating(MemoryKind::workspace, step.tensor);
  // Statistics have no positions of their own. Their region is the tile's region in the measured tensor.
  Step measured = step;
  measured.tensor = measured_tensor(step);
  const Region region = tile_region(graph_, *pass_, measured, grid_tile_, sizes_.latent);
  if (!makes_tile(step)) {
    carry_out(step, region, first_item, sink);
  } else if (region.t.length() > 0) {
    make_tile(slot, region);
  }  // else the step has run ahead to the clip's end: nothing reads earlier frames
  if (!tiles_[slot].empty()) {
    events_.holds_tile(tiles_[slot].view.blocks[0]);
    carried_.save(slot, tiles_[slot].view);
  }
  for (size_t i = 0; i <= slot; ++i) {
    if (last_use_[i] <= slot) tiles_[i] = {};
  }
}

double TileSteps::share_done(double of_call) const {
  return std::min(1.0, (double(calls_before_) + of_call) / double(calls_of_step_));
}

/// Runs a step that makes no tile: one that stores a tensor, measures a tensor or emits pixels.
void TileSteps::carry_out(const Step& step, const Region& region, int64_t first_item, PictureSink& sink) {
  if (step.kind == OpKind::emit) {
    return device_.emit(view_of(step.inputs[0]), region, first_item, sizes_.items,
                        graph_.tensor(step.tensor).name, sink);
  }
  compute(step, region, takes_statistics(step.kind) ? MapView{} : kept_.view(step.tensor));
}

void TileSteps::make_tile(size_t slot, const Region& region) {
  const Step& step = pass_->steps[slot];
  const bool takes_tile = takes_over(*pass_, step);
  tiles_[slot] = takes_tile ? std::move(tile_of(step.inputs[0]))
                            : device_.make_tile(region, graph_.tensor(step.tensor).channels, sizes_.items);
  const MapView& tile = tiles_[slot].view;
  const Axis axis = pass_->carried_axis();
  const Region own = carried_.take(slot, region, tile);
  if (at(own, axis).length() == 0) return;
  // The step may reuse its input's tile, which can be larger than the step's own output.
  const MapView made = part_along(tile, axis, at(own, axis));
  if (step.kind == OpKind::add && !takes_tile) device_.copy(view_of(step.inputs[0]), made, own, sizes_.items);
  compute(step, own, made);
  // Over carried rows this takes the whole tile: rows below the picture are copied from them.
  if (leaves_outside(step.kind) || step.edges != Edges::zeros)
    device_.fill_outside(axis == Axis::t ? made : tile, step.edges, picture(step.tensor), sizes_.items);
  // Round values that a plan may keep, as storing them would. So results do not depend on which tensors a
  // plan keeps. Values that are only moved are rounded already, except the latent's.
  const bool moves_latent = step.kind == OpKind::depth_to_space && step.inputs[0].tensor == graph_.input();
  const bool rounds = step.op != OpId{-1} && rounds_result(graph_, graph_.op(step.op));
  if ((rounds || moves_latent) && step.tensor != graph_.output()) device_.round(made, sizes_.items);
}

/// Computes a region of a step's result into `made`: the whole tile, its new positions, or blocks of a kept
/// tensor.
void TileSteps::compute(const Step& step, const Region& region, const MapView& made) {
  StepCall call{.kind = step.kind,
                .op = step.op != OpId{-1} ? &graph_.op(step.op) : nullptr,
                .inputs = inputs_of(step, made),
                .target = made,
                .region = region,
                .result_extent = picture(step.tensor),
                .source_extent = picture(step.inputs[0].tensor),
                .items = sizes_.items};
  if (step.kind == OpKind::attention) return attend(std::move(call));
  device_.run(call);
}

void TileSteps::attend(StepCall call) {
  DeviceTile exact;
  const Region& region = call.region;
  MapView& queries = call.inputs[0];
  if (queries.region.y != region.y || queries.region.x != region.x) {
    // No plan of ours has wider queries.
    exact = device_.make_tile(region, queries.channels, sizes_.items);
    device_.copy(queries, exact.view, region, sizes_.items);
    queries = exact.view;
  }
  const Op& op = *call.op;
  if (!kept_.staged(op.inputs[1])) return device_.run(call);
  const auto attended = [&](int64_t frame) {
    return attended_frames(op.frames, frame, picture(op.inputs[1]).t);
  };
  kept_.for_each_block(
      op.inputs[1], op.inputs[2], region.t, [&](int64_t frame) { return attended(frame).end; },
      [&](const KeptBlocks::StagedKeys& staged) {
        calls_before_ = staged.number;
        calls_of_step_ = staged.of;
        call.inputs[1] = staged.keys;
        call.inputs[2] = staged.values;
        call.block = {staged.item, staged.frame, attended(staged.frame), staged.first, staged.last};
        device_.run(call);
      });
}

MapView TileSteps::view_of(const Operand& operand) {
  return operand.step >= 0 ? tile_of(operand).view : kept_.view(operand.tensor);
}

std::vector<MapView> TileSteps::inputs_of(const Step& step, const MapView& made) {
  std::vector<MapView> views;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const Operand& operand = step.inputs[i];
    const bool in_target =
        (step.kind == OpKind::add && i == 0) || (step.kind == OpKind::accumulate && i == 1);
    if (graph_.tensor(operand.tensor).statistics || in_target) continue;
    // An in-place residual already belongs to the step's tensor: KeptBlocks::begin_pass() handed it on.
    const bool is_target = step.target == StepTarget::in_place && i + 1 == step.inputs.size();
    const bool by_block = operand.step < 0 && kept_.staged(operand.tensor);
    views.push_back(is_target ? made : by_block ? MapView{} : view_of(operand));
  }
  return views;
}

DeviceTile& TileSteps::tile_of(const Operand& operand) {
  return tiles_[static_cast<size_t>(operand.step)];
}

}  // namespace headroom
