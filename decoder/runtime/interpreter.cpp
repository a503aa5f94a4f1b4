#include "decoder/runtime/interpreter.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "decoder/graph/errors.h"
#include "decoder/plan/lowering.h"
#include "decoder/runtime/attention.h"
#include "decoder/runtime/convolution.h"
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

/// Items of the slice, from C×H×W planes to channels last.
void Interpreter::load_latent(const Array& latent) {
  const Tensor& tensor = graph_.tensor(graph_.latent());
  const Extent extent = picture(graph_.latent());
  const MapView& view = kept_.add_latent();
  const int64_t plane = extent.y * extent.x;
  const float* from = latent.values.data() + first_item_ * tensor.channels * plane;
  for (int64_t item = 0; item < sizes_.items; ++item) {
    for (int64_t c = 0; c < tensor.channels; ++c, from += plane) {
      float* to = view.at(item, 0, 0) + c;
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
      if (events_ != nullptr) events_->tile_started(plan_, pass_number, tile, tiles);
      const Region grid_tile{pass.tiles.t.front(), pass.tiles.y[band], columns};
      tiles_.assign(pass.steps.size(), {});
      for (size_t i = 0; i < pass.steps.size(); ++i) {
        const Step& step = pass.steps[i];
        EventSink::StepDone done{first_item_, pass_number, tile, static_cast<int32_t>(i), 0, 0, 0, 0};
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
          if (events_ != nullptr && !tiles_[i].empty())
            events_->holds_tile(tiles_[i].values.const_data_ptr());
        } catch (const LimitExceeded& refused) {
          throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name + "), " +
                              name_of(step.kind) + " " + graph_.tensor(step.tensor).name + ": " +
                              refused.what());
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
      ++tile;
    }
    kept_.end_band();
  }
  kept_.end_pass();
  weights_.end_pass();
  end_statistics(number);
}

void Interpreter::begin_statistics(const Pass& pass) {
  for (const Step& step : pass.steps) {
    if (!takes_statistics(step.kind)) continue;
    const Op& op = graph_.op(step.op);
    if (step.kind == StepKind::statistics) {
      statistics_.insert_or_assign(step.tensor, GroupStatistics(sizes_.items, op.groups));
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
  const size_t slot = static_cast<size_t>(&step - pass.steps.data());
  tiles_[slot] = compute(pass, step, region);
  // What may be kept has the values that it would be read back with, so that keeping it changes nothing.
  const bool moves =
      step.kind == StepKind::gather || step.kind == StepKind::upsample || step.kind == StepKind::shuffle;
  if (!moves && !is_norm(step.kind) && step.tensor != graph_.output())
    round_tile(tiles_[slot].view(), sizes_.dtype, sizes_.items);
}

Tile Interpreter::compute(const Pass&, const Step& step, const Region& region) {
  const int64_t channels = graph_.tensor(step.tensor).channels;
  const Extent own_picture = picture(step.tensor);
  const Region part = inside(region, own_picture);
  switch (step.kind) {
    case StepKind::gather: {
      Tile tile = make_tile(region, channels, sizes_.items);
      gather(view_of(step.inputs[0]), tile.view(), own_picture, sizes_.items);
      return tile;
    }
    case StepKind::norm: {
      Tile tile = make_tile(region, channels, sizes_.items);
      normalise(step, view_of(step.inputs[0]), tile);
      return tile;
    }
    case StepKind::upsample: {
      Tile tile = make_tile(region, channels, sizes_.items);
      upsample(view_of(step.inputs[0]), tile.view(), graph_.op(step.op).factor, own_picture, sizes_.items);
      return tile;
    }
    case StepKind::conv: {
      const OpWeights& weights = weights_.of(step.op);
      Tile tile = make_tile(region, channels, sizes_.items);
      convolve(tile_of(step.inputs[0]).view(), weights.kernel, weights.bias, tile.view(), part, sizes_.items);
      activate(tile.view(), graph_.op(step.op).activation, part, sizes_.items);
      clear_outside(tile.view(), own_picture, sizes_.items);
      return tile;
    }
    case StepKind::pixel_norm: {
      const Op& op = graph_.op(step.op);
      Tile tile = make_tile(region, channels, sizes_.items);
      normalise_pixels(view_of(step.inputs[0]), tile, op.activation, op.epsilon, weights_.of(step.op), part,
                       sizes_.items);
      clear_outside(tile.view(), own_picture, sizes_.items);
      return tile;
    }
    case StepKind::gate: {
      Tile tile = make_tile(region, channels, sizes_.items);
      gate(view_of(step.inputs[0]), tile.view(), region, sizes_.items);
      return tile;
    }
    case StepKind::shuffle: {
      Tile tile = make_tile(region, channels, sizes_.items);
      shuffle(view_of(step.inputs[0]), tile.view(), graph_.op(step.op).factor, region, sizes_.items);
      return tile;
    }
    case StepKind::linear_attention: {
      Tile tile = make_tile(region, channels, sizes_.items);
      attend_linearly(views_of(step), sums_.at(step.inputs.back().tensor), graph_.op(step.op).epsilon,
                      tile.view(), region, sizes_.items);
      return tile;
    }
    case StepKind::attention:
      return attend(tile_of(step.inputs[0]), view_of(step.inputs[1]), view_of(step.inputs[2]), sizes_.items);
    case StepKind::add: {
      Tile tile = std::move(tile_of(step.inputs[0]));
      add_region(view_of(step.inputs[1]), tile.view(), region, sizes_.items);
      return tile;
    }
    default:
      throw std::logic_error("not a step that makes a tile");
  }
}

void Interpreter::normalise(const Step& step, const MapView& source, const Tile& target) {
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
    const float* pixels = tile->view().at(item, region.y.begin, region.x.begin);
    require_finite(pixels, region.y.length() * region.x.length() * view.channels,
                   graph_.tensor(step.tensor).name);
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
