#include "decoder/interpreter/interpreter.h"

#include <algorithm>
#include <chrono>

#include "decoder/base/errors.h"
#include "decoder/graph/geometry.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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
             [this](TensorId id) -> const MapView& { return kept_.view(id); }),
      steps_(graph_, sizes_, device, events_, kept_) {
  measurements_.resize(plan.passes.size());
}

void Interpreter::run_block(const ArrayView& latent, int64_t first_item, PictureSink& sink,
                            const BlockFrames& frames) {
  first_item_ = first_item;
  frames_ = &frames;
  sizes_.latent.t = frames.latent_frames;
  device_.watch_calls([this](double share) {
    events_.step_part_done(plan_, {running_.pass, running_.tile, running_.step, steps_.share_done(share)});
  });
  events_.allocating(MemoryKind::latent, graph_.input());
  try {
    const MapView input = kept_.begin_block(frames);
    if (input.region.t.length() > 0) device_.load_latent(latent, first_item, input, sizes_.items);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded(std::string("loading the latent: ") + refused.what());
  }
  for (size_t pass = 0; pass < plan_.passes.size(); ++pass) {
    const auto start = Clock::now();
    device_.memory().start_window();
    run_pass(pass, sink);
    measurements_[pass].seconds += seconds_since(start);
    note_peak(pass);
  }
  device_.finish_output();
  for (const Pass& pass : plan_.passes) {
    for (const Step& step : pass.steps) {
      if (takes_statistics(step.kind)) device_.statistics().forget(step.tensor);
    }
  }
  kept_.end_block();
}

void Interpreter::move_state(StreamState& state, const StreamFrames& frames) {
  sizes_.latent.t = kOpenEnd;
  kept_.move_state(state, frames.tails());
  steps_.move_state(state, plan_, frames.done());
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
  begin_statistics(number);
  steps_.begin_pass(number, pass);
  run_bands(number, sink);
  steps_.end_pass();
  ranks_.before_release();
  kept_.end_pass();
  device_.end_pass();
  ranks_.merge_statistics();
  ranks_.end_pass();
  end_statistics(number);
}

void Interpreter::run_bands(size_t number, PictureSink& sink) {
  const Axes<std::vector<Interval>>& grid = plan_.passes[number].tiles;
  const std::vector<Interval>& chunks = frames_->chunks[number];
  if (chunks.empty()) return;  // its inputs lack the frames that it reads ahead
  const auto tiles = static_cast<int64_t>(chunks.size() * grid.y.size() * grid.x.size());
  int64_t tile = 0;
  for (size_t band = 0; band < grid.y.size(); ++band) {
    events_.allocating(MemoryKind::kept, TensorId{-1});
    kept_.begin_band(band);
    ranks_.begin_band(band);
    for (size_t column = 0; column < grid.x.size(); ++column) {
      for (const Interval& chunk : chunks) {
        events_.tile_started(plan_, static_cast<int32_t>(number), tile, tiles);
        steps_.begin_tile({band, column, {chunk, grid.y[band], grid.x[column]}});
        run_tile(number, tile, sink);
        ++tile;
      }
      steps_.end_column();
    }
    ranks_.end_band(band);
    kept_.end_band();
  }
}

void Interpreter::run_tile(size_t number, int64_t tile, PictureSink& sink) {
  const Pass& pass = plan_.passes[number];
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    const Step& step = pass.steps[i];
    EventSink::StepDone done{.item = first_item_,
                             .pass = static_cast<int32_t>(number),
                             .tile = tile,
                             .step = static_cast<int32_t>(i),
                             .live_before_bytes = device_.memory().live_bytes()};
    running_ = {done.pass, done.tile, done.step, 0};
    note_peak(number);
    ranks_.working();
    device_.memory().start_window();
    const auto start = Clock::now();
    try {
      steps_.run(i, first_item_, sink);
    } catch (const LimitExceeded& refused) {
      throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name + "), " + name_of(step.kind) +
                          " " + graph_.tensor(step.tensor).name + ": " + refused.what());
    }
    done.peak_bytes = device_.memory().window_peak_bytes();
    done.live_after_bytes = device_.memory().live_bytes();
    done.seconds = seconds_since(start);
    events_.step_done(plan_, done);
  }
}

void Interpreter::note_peak(size_t number) {
  int64_t& peak = measurements_[number].peak_bytes;
  peak = std::max(peak, device_.memory().window_peak_bytes());
}

void Interpreter::begin_statistics(size_t number) {
  const Pass& pass = plan_.passes[number];
  const std::vector<Interval>& chunks = frames_->chunks[number];
  const Interval grid{chunks.empty() ? 0 : chunks.front().begin, chunks.empty() ? 0 : chunks.back().end};
  for (const Step& step : pass.steps) {
    if (!takes_statistics(step.kind)) continue;
    const int32_t scale = graph_.tensor(measured_tensor(step)).scale.t;
    device_.statistics().begin(step.tensor, sizes_.items, frames_at_scale(grid, pass.scale.t, scale));
  }
}

void Interpreter::end_statistics(size_t number) {
  for (const Step& step : plan_.passes[number].steps) {
    if (takes_statistics(step.kind))
      device_.statistics().check(step.tensor, graph_.tensor(step.inputs[0].tensor).name);
  }
  // Free the sums of keys and values: with many heads they are large.
  for (const Pass& earlier : plan_.passes) {
    for (const Step& step : earlier.steps) {
      if (step.kind == OpKind::key_value_sums && !read_after(number, step.tensor))
        device_.statistics().forget(step.tensor);
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

}  // namespace headroom
