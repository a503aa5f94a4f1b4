#include "decoder/interpreter/interpreter.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "decoder/graph/errors.h"
#include "decoder/lowering/lifetimes.h"
#include "decoder/lowering/tiles.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Whether the device leaves what lies outside the picture as it was (device.h); elsewhere it writes zeros.
bool leaves_outside(StepKind kind) {
  return kind == StepKind::conv || kind == StepKind::rms_norm;
}

}  // namespace

Plan plan_of_micro_batch(const Plan& plan, int64_t first_item) {
  Plan micro_batch = plan;
  micro_batch.micro_batch = std::min(plan.micro_batch, plan.request.batch - first_item);
  return micro_batch;
}

Interpreter::Interpreter(const Model& model, const Plan& plan, Device& device, BlockTransfers* transfers,
                         EventSink* events, const RankLink* link)
    : graph_(model.graph),
      plan_(plan),
      device_(device),
      events_(events != nullptr ? *events : EventSink::none()),
      sizes_(sizes_of(graph_, plan)),
      kept_(graph_, plan_, sizes_, device, transfers),
      ranks_(graph_, plan_, sizes_, device, link,
             [this](TensorId id) -> const MapView& { return kept_.view(id); }) {
  measurements_.resize(plan.passes.size());
}

void Interpreter::run(const Array& latent, int64_t first_item, PictureSink& sink) {
  first_item_ = first_item;
  device_.watch_calls([this](double share) { tell_part(share); });
  events_.allocating(MemoryKind::latent, graph_.latent());
  try {
    device_.load_latent(latent, first_item, kept_.add_latent(), sizes_.items);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded(std::string("loading the latent: ") + refused.what());
  }
  for (size_t pass = 0; pass < plan_.passes.size(); ++pass) {
    const auto start = Clock::now();
    device_.start_window();
    run_pass(pass, sink);
    measurements_[pass].seconds += seconds_since(start);
    note_peak(pass);
  }
  device_.finish_output();
  for (const Pass& pass : plan_.passes) {
    for (const Step& step : pass.steps) {
      if (takes_statistics(step.kind)) device_.forget_statistics(step.tensor);
    }
  }
}

void Interpreter::run_pass(size_t number, PictureSink& sink) {
  const Pass& pass = plan_.passes[number];
  const auto pass_number = static_cast<int32_t>(number);
  events_.pass_started(plan_, pass_number);
  kept_.follow_moves();
  events_.allocating(MemoryKind::weights, TensorId{-1});
  device_.begin_pass(number);
  events_.allocating(MemoryKind::kept, TensorId{-1});
  ranks_.begin_pass(number);
  kept_.begin_pass(number);
  begin_statistics(pass);
  last_use_ = last_uses(pass);

  const int64_t tiles = static_cast<int64_t>(pass.tiles.t.size() * pass.tiles.y.size() * pass.tiles.x.size());
  int64_t tile = 0;
  carried_.assign(pass.tiles.x.size(), std::vector<DeviceTile>(pass.steps.size()));
  if (pass.carries_rows) make_room_for_rows(number);
  for (band_ = 0; band_ < pass.tiles.y.size(); ++band_) {
    events_.allocating(MemoryKind::kept, TensorId{-1});
    kept_.begin_band(band_);
    ranks_.begin_band(band_);
    for (column_ = 0; column_ < pass.tiles.x.size(); ++column_) {
      for (const Interval& chunk : pass.tiles.t) {
        events_.tile_started(plan_, pass_number, tile, tiles);
        run_chunk(number, tile, {chunk, pass.tiles.y[band_], pass.tiles.x[column_]}, sink);
        ++tile;
      }
      if (!pass.carries_rows) carried_[column_].assign(pass.steps.size(), {});
    }
    ranks_.end_band(band_);
    kept_.end_band();
  }
  carried_.clear();
  ranks_.before_release();
  kept_.end_pass();
  device_.end_pass();
  ranks_.merge_statistics();
  ranks_.end_pass();
  end_statistics(number);
}

/// All steps of the pass on one chunk of frames of one tile.
void Interpreter::run_chunk(size_t number, int64_t tile, const Region& grid_tile, PictureSink& sink) {
  const Pass& pass = plan_.passes[number];
  tiles_.assign(pass.steps.size(), {});
  const bool last_chunk = grid_tile.t == pass.tiles.t.back();
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    EventSink::StepDone done{.item = first_item_,
                             .pass = static_cast<int32_t>(number),
                             .tile = tile,
                             .step = static_cast<int32_t>(i),
                             .live_before_bytes = device_.live_bytes()};
    running_ = {done.pass, done.tile, done.step, 0};
    calls_before_ = 0;
    calls_of_step_ = 1;
    note_peak(number);
    ranks_.working();
    device_.start_window();
    const auto start = Clock::now();
    try {
      if (acquires_blocks(step)) {
        events_.allocating(MemoryKind::kept, step.tensor);
        kept_.before_store(step.tensor);
      }
      events_.allocating(MemoryKind::workspace, step.tensor);
      run_step(pass, step, grid_tile, sink);
      if (!tiles_[i].empty()) events_.holds_tile(tiles_[i].view.blocks[0]);
      if (!last_chunk) carry_frames(pass, step, grid_tile);
      if (pass.carries_rows) carry_rows(pass, step);
    } catch (const LimitExceeded& refused) {
      throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name + "), " + name_of(step.kind) +
                          " " + graph_.tensor(step.tensor).name + ": " + refused.what());
    }
    drop_dead_tiles(i);
    done.peak_bytes = device_.window_peak_bytes();
    done.live_after_bytes = device_.live_bytes();
    done.seconds = seconds_since(start);
    events_.step_done(plan_, done);
  }
}

void Interpreter::tell_part(double of_call) {
  const double calls = double(calls_of_step_);
  events_.step_part_done(plan_, {running_.pass, running_.tile, running_.step,
                                 std::min(1.0, (double(calls_before_) + of_call) / calls)});
}

void Interpreter::note_peak(size_t number) {
  int64_t& peak = measurements_[number].peak_bytes;
  peak = std::max(peak, device_.window_peak_bytes());
}

/// Copies the last frames of the tile that a step has just made to where its next chunk will find them. What
/// a later step adds onto a tile has no earlier frames, so these are final.
void Interpreter::carry_frames(const Pass& pass, const Step& step, const Region& grid_tile) {
  if (!makes_tile(step) || carried_frames(step) == 0) return;
  const auto slot = static_cast<size_t>(&step - pass.steps.data());
  const MapView& made = tiles_[slot].view;
  const int64_t end = fresh_frames(graph_, pass, step, grid_tile.t, sizes_.latent).end;
  const int64_t frames = carried_frames(step), begin = std::max(made.region.t.begin, end - frames);
  DeviceTile& carried = carried_by(slot);
  Region kept = made.region;
  kept.t = {begin, begin + frames};
  if (carried.empty()) {
    events_.allocating(MemoryKind::workspace, step.tensor);
    carried = device_.make_tile(kept, made.channels, sizes_.items);
    events_.holds_tile(carried.view.blocks[0]);
  }
  carried.view.region.t = kept.t;
  kept.t.end = end;
  device_.copy(made, carried.view, kept, sizes_.items);
}

/// For each step one allocation, in which each column of tiles has its own part.
void Interpreter::make_room_for_rows(size_t number) {
  const Pass& pass = plan_.passes[number];
  if (pass.tiles.y.size() < 2) return;
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    const int64_t rows = carried_rows(pass, step);
    if (rows == 0) continue;
    std::vector<Interval> columns;
    std::vector<int64_t> begins;
    int64_t across = 0;
    for (size_t column = 0; column < pass.tiles.x.size(); ++column) {
      columns.push_back(tile_columns(graph_, pass, step, pass.tiles.x[column], sizes_.latent));
      begins.push_back(across);
      across += columns.back().length() * device_.stands_for(number, column);
    }
    events_.allocating(MemoryKind::workspace, step.tensor);
    const int64_t channels = graph_.tensor(step.tensor).channels;
    const DeviceTile all = device_.make_tile({{0, 1}, {0, rows}, {0, across}}, channels, sizes_.items);
    events_.holds_tile(all.view.blocks[0]);
    for (size_t column = 0; column < columns.size(); ++column) {
      DeviceTile& own = carried_[column][i] = all;
      own.view.region.x = columns[column];
      const int64_t skipped = begins[column] * rows * channels * bytes_per_element(all.view.dtype);
      for (void*& block : own.view.blocks) block = static_cast<std::byte*>(block) + skipped;
    }
  }
}

/// Copies the rows of the tile that a step has just made with which the tile below begins.
void Interpreter::carry_rows(const Pass& pass, const Step& step) {
  if (carried_rows(pass, step) == 0 || band_ + 1 == pass.tiles.y.size()) return;
  const auto slot = static_cast<size_t>(&step - pass.steps.data());
  const MapView& made = tiles_[slot].view;
  // In a low picture the next tile may begin with fewer rows of this one than its halo has.
  const Interval& band = pass.tiles.y[band_ + 1];
  MapView& carried = carried_by(slot).view;
  carried.region.y = {tile_rows(graph_, pass, step, band, sizes_.latent).begin,
                      fresh_rows(graph_, pass, step, band, sizes_.latent).begin};
  Region kept = made.region;
  kept.y = carried.region.y;
  device_.copy(made, carried, kept, sizes_.items);
}

void Interpreter::begin_statistics(const Pass& pass) {
  for (const Step& step : pass.steps) {
    if (takes_statistics(step.kind)) device_.begin_statistics(step.tensor, sizes_.items);
  }
}

void Interpreter::end_statistics(size_t number) {
  for (const Step& step : plan_.passes[number].steps) {
    if (takes_statistics(step.kind))
      device_.check_statistics(step.tensor, graph_.tensor(step.inputs[0].tensor).name);
  }
  // Sums of keys and values are large where there are many heads.
  for (const Pass& earlier : plan_.passes) {
    for (const Step& step : earlier.steps) {
      if (step.kind == StepKind::key_value_sums && !read_after(number, step.tensor))
        device_.forget_statistics(step.tensor);
    }
  }
}

bool Interpreter::read_after(size_t number, TensorId tensor) const {
  for (size_t later = number + 1; later < plan_.passes.size(); ++later) {
    for (const Step& step : plan_.passes[later].steps) {
      for (const Operand& operand : step.inputs) {
        if (operand.tensor == tensor) return true;
      }
    }
  }
  return false;
}

void Interpreter::run_step(const Pass& pass, const Step& step, const Region& grid_tile, PictureSink& sink) {
  // Statistics have no positions of their own: they take the image of the tile in what they measure.
  Step measured = step;
  measured.tensor = measured_tensor(step);
  const Region region = tile_region(graph_, pass, measured, grid_tile, sizes_.latent);
  switch (step.kind) {
    case StepKind::store:
      return device_.copy(view_of(step.inputs[0]), kept_.view(step.tensor), region, sizes_.items);
    case StepKind::accumulate:
      return device_.add(view_of(step.inputs[0]), kept_.view(step.tensor), graph_.op(step.op).activation,
                         region, sizes_.items);
    case StepKind::statistics:
      return device_.add_statistics(step.tensor, view_of(step.inputs[0]), region, sizes_.items);
    case StepKind::key_value_sums:
      return device_.add_key_values(step.tensor, views_of(step), region, sizes_.items);
    case StepKind::emit:
      return device_.emit(view_of(step.inputs[0]), region, first_item_, sizes_.items,
                          graph_.tensor(step.tensor).name, sink);
    default:
      break;
  }
  if (step.target != StepTarget::tile) return compute(step, region, kept_.view(step.tensor));
  // It has run ahead to the clip's end, and nothing reads earlier frames.
  if (region.t.length() == 0) return;
  const auto slot = static_cast<size_t>(&step - pass.steps.data());
  DeviceTile& tile = tiles_[slot];
  const bool takes_tile = takes_over(pass, step);
  tile = takes_tile ? std::move(tile_of(step.inputs[0]))
                    : device_.make_tile(region, graph_.tensor(step.tensor).channels, sizes_.items);
  Region own = region;
  const DeviceTile& carried = carried_by(slot);
  if (!carried.empty() && (!pass.carries_rows || band_ > 0)) {
    Region earlier = region;
    if (pass.carries_rows) {
      own.y.begin = fresh_rows(graph_, pass, step, grid_tile.y, sizes_.latent).begin;
      earlier.y.end = own.y.begin;
    } else {
      own.t.begin = fresh_frames(graph_, pass, step, grid_tile.t, sizes_.latent).begin;
      earlier.t.end = own.t.begin;
    }
    device_.copy(carried.view, tile.view, earlier, sizes_.items);
  }
  if (own.t.length() == 0 || own.y.length() == 0) return;
  // A tile that is taken over may be wider than what this step makes.
  const MapView with_carried = part_of(tile.view, own.t, tile.view.region.y);
  const MapView made = pass.carries_rows ? part_of(tile.view, own.t, own.y) : with_carried;
  if (step.kind == StepKind::add && !takes_tile)
    device_.copy(view_of(step.inputs[0]), made, own, sizes_.items);
  compute(step, own, made);
  if (leaves_outside(step.kind) || step.edges != Edges::zeros)
    device_.fill_outside(with_carried, step.edges, picture(step.tensor), sizes_.items);
  // Values that may be kept are rounded here as they would be by being stored, so that a plan
  // computes the same whether it stores them or not.
  // Values that are only moved are rounded already, except the latent's.
  const bool moves_latent = step.kind == StepKind::depth_to_space && step.inputs[0].tensor == graph_.latent();
  if ((rounds(step.kind) || moves_latent) && step.tensor != graph_.output())
    device_.round(made, sizes_.items);
}

/// Makes the values of a region of a step's tile in `made`: all of them, or those of the frames that are new.
void Interpreter::compute(const Step& step, const Region& region, const MapView& made) {
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

void Interpreter::convolve(const Step& step, const Region& region, const MapView& made) {
  const MapView source = view_of(step.inputs[0]);
  std::optional<MapView> residual;
  // What is replaced in place is known by its new name by now.
  if (step.add != OpId{-1})
    residual = step.target == StepTarget::in_place ? made : view_of(step.inputs.back());
  device_.convolve(graph_.op(step.op), {source, residual ? &*residual : nullptr, made}, region,
                   picture(step.tensor), sizes_.items);
}

void Interpreter::attend(const Step& step, const Region& region, const MapView& made) {
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

MapView Interpreter::view_of(const Operand& operand) {
  return operand.step >= 0 ? tile_of(operand).view : kept_.view(operand.tensor);
}

std::vector<MapView> Interpreter::views_of(const Step& step) {
  std::vector<MapView> views;
  for (const Operand& operand : step.inputs) {
    if (!graph_.tensor(operand.tensor).statistics) views.push_back(view_of(operand));
  }
  return views;
}

DeviceTile& Interpreter::tile_of(const Operand& operand) {
  return tiles_[static_cast<size_t>(operand.step)];
}

void Interpreter::drop_dead_tiles(size_t step) {
  for (size_t i = 0; i <= step; ++i) {
    if (last_use_[i] <= step) tiles_[i] = {};
  }
}

}  // namespace headroom
