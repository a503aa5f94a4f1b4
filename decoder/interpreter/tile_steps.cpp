#include "decoder/interpreter/tile_steps.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "decoder/lowering/lifetimes.h"

namespace headroom {
namespace {

/// True for steps that write nothing outside the picture (device.h). Gather, norm and upsample write zeros.
bool leaves_outside(StepKind kind) {
  return kind == StepKind::conv || kind == StepKind::rms_norm;
}

/// Part of a tile in an interval along a carried axis: time, or rows if there is only one frame.
MapView part_along(const MapView& tile, Axis axis, const Interval& positions) {
  Region part = tile.region;
  at(part, axis) = positions;
  return part_of(tile, part.t, part.y);
}

}  // namespace

void TileSteps::begin_pass(const Pass& pass) {
  pass_ = &pass;
  last_use_ = last_uses(pass);
  carried_.begin_pass(pass);
}

void TileSteps::begin_tile(const TilePlace& place) {
  grid_tile_ = {pass_->tiles.t[place.t], pass_->tiles.y[place.y], pass_->tiles.x[place.x]};
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
    carried_.hand_on(slot, tiles_[slot].view);
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
  const int64_t items = sizes_.items;
  switch (step.kind) {
    case StepKind::store:
      return device_.copy(view_of(step.inputs[0]), kept_.view(step.tensor), region, items);
    case StepKind::accumulate:
      return device_.add(view_of(step.inputs[0]), kept_.view(step.tensor), graph_.op(step.op).activation,
                         region, items);
    case StepKind::statistics:
      return device_.add_statistics(step.tensor, view_of(step.inputs[0]), region, items);
    case StepKind::key_value_sums:
      return device_.add_key_values(step.tensor, views_of(step), region, items);
    case StepKind::emit:
      return device_.emit(view_of(step.inputs[0]), region, first_item, items, graph_.tensor(step.tensor).name,
                          sink);
    default:
      return compute(step, region, kept_.view(step.tensor));
  }
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
  if (step.kind == StepKind::add && !takes_tile)
    device_.copy(view_of(step.inputs[0]), made, own, sizes_.items);
  compute(step, own, made);
  // Over carried rows this takes the whole tile: rows below the picture are copied from them.
  if (leaves_outside(step.kind) || step.edges != Edges::zeros)
    device_.fill_outside(axis == Axis::t ? made : tile, step.edges, picture(step.tensor), sizes_.items);
  // Round values that a plan may keep, as storing them would. So results do not depend on which tensors a
  // plan keeps. Values that are only moved are rounded already, except the latent's.
  const bool moves_latent = step.kind == StepKind::depth_to_space && step.inputs[0].tensor == graph_.latent();
  if ((rounds(step.kind) || moves_latent) && step.tensor != graph_.output())
    device_.round(made, sizes_.items);
}

/// Computes a region of a step's tile into `made`: the whole tile, or only its new positions.
void TileSteps::compute(const Step& step, const Region& region, const MapView& made) {
  const Extent own_picture = picture(step.tensor);
  const Region part = inside(region, own_picture);
  const auto source = [&](size_t input) { return view_of(step.inputs[input]); };
  const int64_t items = sizes_.items;
  if (step.kind == StepKind::gather) return device_.gather(source(0), made, own_picture, items);
  const Op& op = graph_.op(step.op);
  switch (step.kind) {
    case StepKind::norm:
      return device_.normalise(op, source(0), made, own_picture, items);
    case StepKind::upsample:
      return device_.upsample(op, source(0), made, own_picture, items);
    case StepKind::conv:
      return convolve(step, region, made);
    case StepKind::interpolate:
      return device_.interpolate(op, source(0), made, picture(step.inputs[0].tensor), region, items);
    case StepKind::unfold_frames:
      return device_.unfold_frames(source(0), source(1), made, region, items);
    case StepKind::rms_norm:
      return device_.rms_normalise(op, source(0), made, part, items);
    case StepKind::gate:
      return device_.gate(source(0), made, region, items);
    case StepKind::depth_to_space:
      return device_.depth_to_space(op, source(0), made, region, items);
    case StepKind::linear_attention:
      return device_.attend_linearly(op, views_of(step), made, region, items);
    case StepKind::attention:
      return attend(step, region, made);
    case StepKind::add:
      return device_.add(source(1), made, op.activation, region, items);
    case StepKind::activate:
      device_.gather(source(0), made, own_picture, items);
      return device_.activate(made, op.activation, part, items);
    default:
      throw std::logic_error("not a step that makes a tile");
  }
}

void TileSteps::convolve(const Step& step, const Region& region, const MapView& made) {
  const MapView source = view_of(step.inputs[0]);
  std::optional<MapView> residual;
  // An in-place residual already belongs to the step's tensor: KeptBlocks::begin_pass() handed it on.
  if (step.add != OpId{-1})
    residual = step.target == StepTarget::in_place ? made : view_of(step.inputs.back());
  device_.convolve(graph_.op(step.op), {source, residual ? &*residual : nullptr, made}, region,
                   picture(step.tensor), sizes_.items);
}

void TileSteps::attend(const Step& step, const Region& region, const MapView& made) {
  MapView queries = tile_of(step.inputs[0]).view;
  DeviceTile exact;
  if (queries.region.y != region.y || queries.region.x != region.x) {
    // No plan of ours has wider queries.
    exact = device_.make_tile(region, queries.channels, sizes_.items);
    device_.copy(queries, exact.view, region, sizes_.items);
    queries = exact.view;
  }
  const Op& op = graph_.op(step.op);
  if (kept_.staged(op.inputs[1])) {
    return kept_.for_each_block(
        op.inputs[1], op.inputs[2], region.t,
        [&](int64_t frame) { return attended_frames(op.frames, frame).end; },
        [&](const KeptBlocks::StagedKeys& staged) {
          calls_before_ = staged.number;
          calls_of_step_ = staged.of;
          device_.attend_part(op, {queries, staged.keys, staged.values, made, staged.item, staged.frame,
                                   attended_frames(op.frames, staged.frame), staged.first, staged.last});
        });
  }
  device_.attend(op, queries, view_of(step.inputs[1]), view_of(step.inputs[2]), made, sizes_.items);
}

MapView TileSteps::view_of(const Operand& operand) {
  return operand.step >= 0 ? tile_of(operand).view : kept_.view(operand.tensor);
}

std::vector<MapView> TileSteps::views_of(const Step& step) {
  std::vector<MapView> views;
  for (const Operand& operand : step.inputs) {
    if (!graph_.tensor(operand.tensor).statistics) views.push_back(view_of(operand));
  }
  return views;
}

DeviceTile& TileSteps::tile_of(const Operand& operand) {
  return tiles_[static_cast<size_t>(operand.step)];
}

}  // namespace headroom
