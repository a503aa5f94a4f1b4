#include "decoder/runtime/interpreter.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "decoder/graph/errors.h"
#include "decoder/plan/lowering.h"
#include "decoder/runtime/attention.h"
#include "decoder/runtime/convolution.h"
#include "decoder/runtime/frames.h"
#include "decoder/runtime/normalisation.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void require_finite(const float* values, int64_t count, const std::string& layer) {
  const bool finite = std::all_of(values, values + count, [](float v) { return std::isfinite(v); });
  if (!finite) throw DeviceError(layer + ": its output is not finite; the decode was stopped");
}

/// The frames of a step's tile that belong to the chunk itself.
Interval own_frames(const Graph& graph, const Pass& pass, const Step& step, const Region& grid_tile) {
  return frames_at_scale(grid_tile.t, pass.scale.t, graph.tensor(step.tensor).scale.t);
}

bool is_norm(StepKind kind) {
  return kind == StepKind::norm || kind == StepKind::pixel_norm;
}

}  // namespace

Interpreter::Interpreter(const Model& model, const Plan& plan, PlannedWeights& weights,
                         ScratchTransfers* scratch, Pool& pool, EventSink* events)
    : graph_(model.graph),
      plan_(plan),
      weights_(weights),
      pool_(pool),
      events_(events),
      sizes_(sizes_of(graph_, plan)),
      kept_(graph_, plan_, sizes_, scratch) {
  measurements_.resize(plan.passes.size());
}

void Interpreter::run(const Array& latent, int64_t first_item, PictureSink& sink) {
  first_item_ = first_item;
  if (events_ != nullptr) events_->allocating(AllocationKind::latent, graph_.latent());
  try {
    load_latent(latent);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded(std::string("loading the latent: ") + refused.what());
  }
  for (size_t pass = 0; pass < plan_.passes.size(); ++pass) {
    const auto start = Clock::now();
    pool_.start_window();
    run_pass(pass, sink);
    PassMeasurement& measurement = measurements_[pass];
    measurement.seconds += seconds_since(start);
    measurement.peak_bytes = std::max(measurement.peak_bytes, pool_.window_peak_bytes());
  }
  statistics_.clear();
  sums_.clear();
}

/// Items of the slice, from C×T×H×W planes to frames of pixels, channels last.
void Interpreter::load_latent(const Array& latent) {
  const Tensor& tensor = graph_.tensor(graph_.latent());
  const Extent extent = picture(graph_.latent());
  const MapView& view = kept_.add_latent();
  const int64_t plane = positions(extent);
  const float* from = latent.values.data() + first_item_ * tensor.channels * plane;
  for (int64_t item = 0; item < sizes_.items; ++item) {
    for (int64_t c = 0; c < tensor.channels; ++c, from += plane) {
      float* to = view.at({item, 0, 0}, 0) + c;
      for (int64_t i = 0; i < plane; ++i) to[i * tensor.channels] = from[i];
    }
  }
}

void Interpreter::run_pass(size_t number, PictureSink& sink) {
  const Pass& pass = plan_.passes[number];
  const auto pass_number = static_cast<int32_t>(number);
  if (events_ != nullptr) events_->allocating(AllocationKind::weights, TensorId{-1});
  weights_.begin_pass(number);
  kept_.begin_pass(number);
  begin_statistics(pass);
  last_use_.assign(pass.steps.size(), 0);
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    last_use_[i] = std::max(last_use_[i], i);
    for (const Operand& operand : pass.steps[i].inputs) {
      if (operand.step >= 0) last_use_[static_cast<size_t>(operand.step)] = i;
    }
  }

  const int64_t tiles = static_cast<int64_t>(pass.tiles.t.size() * pass.tiles.y.size() * pass.tiles.x.size());
  int64_t tile = 0;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    if (events_ != nullptr) events_->allocating(AllocationKind::kept, TensorId{-1});
    kept_.begin_band(band);
    for (const Interval& columns : pass.tiles.x) {
      carried_.assign(pass.steps.size(), {});
      for (const Interval& chunk : pass.tiles.t) {
        if (events_ != nullptr) events_->tile_started(plan_, pass_number, tile, tiles);
        run_chunk(number, tile, {chunk, pass.tiles.y[band], columns}, sink);
        ++tile;
      }
    }
    carried_.clear();
    kept_.end_band();
  }
  kept_.end_pass();
  weights_.end_pass();
  end_statistics(number);
}

/// All steps of the pass on one chunk of frames of one tile.
void Interpreter::run_chunk(size_t number, int64_t tile, const Region& grid_tile, PictureSink& sink) {
  const Pass& pass = plan_.passes[number];
  tiles_.assign(pass.steps.size(), {});
  const bool last_chunk = grid_tile.t == pass.tiles.t.back();
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    EventSink::StepDone done{
        first_item_, static_cast<int32_t>(number), tile, static_cast<int32_t>(i), 0, 0, 0, 0};
    const auto start = Clock::now();
    const int64_t pass_peak = pool_.window_peak_bytes();
    if (events_ != nullptr) {
      done.live_before_bytes = pool_.live_bytes();
      pool_.start_window();
    }
    try {
      if (events_ != nullptr && step.kind == StepKind::store)
        events_->allocating(AllocationKind::kept, step.tensor);
      if (step.kind == StepKind::store) kept_.before_store(step.tensor);
      if (events_ != nullptr) events_->allocating(AllocationKind::workspace, step.tensor);
      run_step(pass, step, grid_tile, sink);
      if (events_ != nullptr && !tiles_[i].empty()) events_->holds_tile(tiles_[i].values.const_data_ptr());
      if (!last_chunk) carry(pass, step, grid_tile);
    } catch (const LimitExceeded& refused) {
      throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name + "), " + name_of(step.kind) +
                          " " + graph_.tensor(step.tensor).name + ": " + refused.what());
    }
    drop_dead_tiles(i);
    if (events_ != nullptr) {
      done.peak_bytes = pool_.window_peak_bytes();
      done.live_after_bytes = pool_.live_bytes();
      done.seconds = seconds_since(start);
      measurements_[number].peak_bytes =
          std::max({measurements_[number].peak_bytes, pass_peak, done.peak_bytes});
      events_->step_done(plan_, done);
    }
  }
}

/// Copies the last frames of the tile that a step has just made to where its next chunk will find them. What
/// a later step adds onto a tile has no earlier frames, so these are final.
void Interpreter::carry(const Pass& pass, const Step& step, const Region& grid_tile) {
  if (!makes_tile(step.kind) || carried_frames(step) == 0) return;
  const auto slot = static_cast<size_t>(&step - pass.steps.data());
  const Tile& made = tiles_[slot];
  Tile& carried = carried_[slot];
  const int64_t frames = carried_frames(step);
  if (carried.empty()) {
    Region region = made.region;
    region.t = {0, frames};
    if (events_ != nullptr) events_->allocating(AllocationKind::workspace, step.tensor);
    carried = make_tile(region, made.values.size(4), sizes_.items);
    if (events_ != nullptr) events_->holds_tile(carried.values.const_data_ptr());
  }
  const int64_t end = own_frames(graph_, pass, step, grid_tile).end;
  const int64_t begin = std::max(made.region.t.begin, end - frames);
  carried.region.t = {begin, begin + frames};
  Region region = made.region;
  region.t = {begin, end};
  copy_region(made.view(), carried.view(), region, sizes_.items);
}

void Interpreter::begin_statistics(const Pass& pass) {
  for (const Step& step : pass.steps) {
    if (!takes_statistics(step.kind)) continue;
    const Op& op = graph_.op(step.op);
    if (step.kind == StepKind::statistics) {
      const int64_t frames = op.by_frame ? picture(op.inputs[0]).t : 0;
      statistics_.insert_or_assign(step.tensor, GroupStatistics(sizes_.items, op.groups, frames));
    } else {
      sums_.insert_or_assign(step.tensor, KeyValueSums(sizes_.items, {op.groups, head_channels(graph_, op)}));
    }
  }
}

void Interpreter::end_statistics(size_t number) {
  for (const Step& step : plan_.passes[number].steps) {
    if (!takes_statistics(step.kind)) continue;
    const bool finite = step.kind == StepKind::statistics ? statistics_.at(step.tensor).finite()
                                                          : sums_.at(step.tensor).finite();
    if (!finite) {
      throw DeviceError(graph_.tensor(step.inputs[0].tensor).name +
                        ": its output is not finite; the decode was stopped");
    }
  }
  std::erase_if(sums_, [&](const auto& entry) {
    for (size_t later = number + 1; later < plan_.passes.size(); ++later) {
      for (const Step& step : plan_.passes[later].steps) {
        for (const Operand& operand : step.inputs) {
          if (operand.tensor == entry.first) return false;
        }
      }
    }
    return true;
  });
}

void Interpreter::run_step(const Pass& pass, const Step& step, const Region& grid_tile, PictureSink& sink) {
  // Statistics have no positions of their own: they take the image of the tile in what they measure.
  Step measured = step;
  measured.tensor = measured_tensor(step);
  const Region region = tile_region(graph_, pass, measured, grid_tile, sizes_.latent);
  switch (step.kind) {
    case StepKind::store:
      copy_region(view_of(step.inputs[0]), kept_.view(step.tensor), region, sizes_.items);
      return;
    case StepKind::accumulate:
      add_region(view_of(step.inputs[0]), kept_.view(step.tensor), region, sizes_.items);
      return;
    case StepKind::statistics:
      statistics_.at(step.tensor).add(view_of(step.inputs[0]), region, sizes_.items);
      return;
    case StepKind::key_value_sums:
      sums_.at(step.tensor).add(views_of(step), region, sizes_.items);
      return;
    case StepKind::emit:
      emit(step, region, sink);
      return;
    default:
      break;
  }
  const auto slot = static_cast<size_t>(&step - pass.steps.data());
  Tile& tile = tiles_[slot];
  const bool takes_over = step.kind == StepKind::add && carried_frames(step) == 0;
  tile = takes_over ? std::move(tile_of(step.inputs[0]))
                    : make_tile(region, graph_.tensor(step.tensor).channels, sizes_.items);
  Interval fresh = region.t;
  if (const Tile& carried = carried_[slot]; !carried.empty()) {
    fresh.begin = own_frames(graph_, pass, step, grid_tile).begin;
    Region earlier = region;
    earlier.t = {region.t.begin, fresh.begin};
    copy_region(carried.view(), tile.view(), earlier, sizes_.items);
  }
  // A tile that is taken over may be wider than what this step makes.
  const MapView made = frames_of(tile.view(), fresh);
  const Region own{fresh, region.y, region.x};
  if (step.kind == StepKind::add && !takes_over)
    copy_region(view_of(step.inputs[0]), made, own, sizes_.items);
  compute(step, own, made);
  // What may be kept has the values that it would be read back with, so that keeping it changes nothing.
  const bool moves =
      step.kind == StepKind::gather || step.kind == StepKind::upsample || step.kind == StepKind::shuffle;
  if (!moves && !is_norm(step.kind) && step.tensor != graph_.output())
    round_tile(made, sizes_.dtype, sizes_.items);
}

/// Makes the values of a region of a step's tile in `made`: all of them, or those of the frames that are new.
void Interpreter::compute(const Step& step, const Region& region, const MapView& made) {
  const Extent own_picture = picture(step.tensor);
  const Region part = inside(region, own_picture);
  switch (step.kind) {
    case StepKind::gather:
      return gather(view_of(step.inputs[0]), made, own_picture, sizes_.items);
    case StepKind::norm:
      return normalise(step, view_of(step.inputs[0]), made);
    case StepKind::upsample:
      return upsample(view_of(step.inputs[0]), made, graph_.op(step.op).factor, own_picture, sizes_.items);
    case StepKind::conv: {
      const OpWeights& weights = weights_.of(step.op);
      convolve(tile_of(step.inputs[0]).view(), weights.kernel, weights.bias, made, part, sizes_.items);
      activate(made, graph_.op(step.op).activation, part, sizes_.items);
      return clear_outside(made, own_picture, sizes_.items);
    }
    case StepKind::interpolate:
      return interpolate(view_of(step.inputs[0]), made, graph_.op(step.op).factor,
                         picture(step.inputs[0].tensor), region, sizes_.items);
    case StepKind::unfold_frames:
      return unfold_frames(view_of(step.inputs[0]), view_of(step.inputs[1]), made, region, sizes_.items);
    case StepKind::pixel_norm: {
      const Op& op = graph_.op(step.op);
      normalise_pixels(view_of(step.inputs[0]), made, op.activation, op.epsilon, weights_.of(step.op), part,
                       sizes_.items);
      return clear_outside(made, own_picture, sizes_.items);
    }
    case StepKind::gate:
      return gate(view_of(step.inputs[0]), made, region, sizes_.items);
    case StepKind::shuffle:
      return shuffle(view_of(step.inputs[0]), made, graph_.op(step.op).factor, region, sizes_.items);
    case StepKind::linear_attention:
      return attend_linearly(views_of(step), sums_.at(step.inputs.back().tensor), graph_.op(step.op).epsilon,
                             made, region, sizes_.items);
    case StepKind::attention: {
      const MapView queries = tile_of(step.inputs[0]).view();
      const auto run = [&](const MapView& exact) {
        attend(exact, view_of(step.inputs[1]), view_of(step.inputs[2]), graph_.op(step.op).frames, made,
               sizes_.items);
      };
      if (queries.region.y == region.y && queries.region.x == region.x) return run(queries);
      // No plan of ours has wider queries.
      const Tile exact = make_tile(region, queries.channels, sizes_.items);
      copy_region(queries, exact.view(), region, sizes_.items);
      return run(exact.view());
    }
    case StepKind::add:
      return add_region(view_of(step.inputs[1]), made, region, sizes_.items);
    default:
      throw std::logic_error("not a step that makes a tile");
  }
}

void Interpreter::normalise(const Step& step, const MapView& source, const MapView& target) {
  const Op& op = graph_.op(step.op);
  const Op& measured = *graph_.producer(op.inputs[1]);
  const OpWeights& weights = weights_.of(step.op);
  headroom::normalise(source, target, op.activation, measured.epsilon, weights, statistics_.at(op.inputs[1]),
                      picture(step.tensor), sizes_.items);
}

void Interpreter::emit(const Step& step, const Region& region, PictureSink& sink) {
  const MapView view = view_of(step.inputs[0]);
  const Tile* tile = step.inputs[0].step >= 0 ? &tile_of(step.inputs[0]) : nullptr;
  Tile copy;
  if (tile == nullptr || tile->region != region) {
    copy = make_tile(region, view.channels, sizes_.items);
    copy_region(view, copy.view(), region, sizes_.items);
    tile = &copy;
  }
  for (int64_t item = 0; item < sizes_.items; ++item) {
    const float* pixels = tile->view().at({item, region.t.begin, region.y.begin}, region.x.begin);
    require_finite(pixels, positions(extent_of(region)) * view.channels, graph_.tensor(step.tensor).name);
    sink.write(first_item_ + item, region, pixels);
  }
}

MapView Interpreter::view_of(const Operand& operand) {
  return operand.step >= 0 ? tile_of(operand).view() : kept_.view(operand.tensor);
}

std::vector<MapView> Interpreter::views_of(const Step& step) {
  std::vector<MapView> views;
  for (const Operand& operand : step.inputs) {
    if (!graph_.tensor(operand.tensor).statistics) views.push_back(view_of(operand));
  }
  return views;
}

Tile& Interpreter::tile_of(const Operand& operand) {
  return tiles_[static_cast<size_t>(operand.step)];
}

void Interpreter::drop_dead_tiles(size_t step) {
  for (size_t i = 0; i <= step; ++i) {
    if (last_use_[i] <= step) tiles_[i] = {};
  }
}

}  // namespace headroom
