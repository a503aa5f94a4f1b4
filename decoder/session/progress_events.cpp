#include "decoder/session/progress_events.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "decoder/base/os/process_memory.h"
#include "decoder/schedule/memory.h"

namespace headroom {
namespace {

constexpr auto kSamplePeriod = std::chrono::milliseconds(50);
/// Minimum time between progress reports within a tile.
constexpr auto kStepsPeriod = std::chrono::milliseconds(100);

}  // namespace

ProgressEvents::ProgressEvents(Progress& progress, EventSink* next, const Graph* graph)
    : ForwardingEvents(next),
      progress_(progress),
      graph_(graph),
      resident_before_(headroom::resident_bytes()) {}

void ProgressEvents::start_part(double begin_share, double end_share) {
  begin_share_ = begin_share;
  end_share_ = end_share;
  item_ = items_ = 0;
}

void ProgressEvents::loading(double share) {
  progress_.tell(WeightsLoaded{std::clamp(share, 0.0, 1.0)});
  sample_memory();
}

void ProgressEvents::emitted(const Region& region) {
  const PictureRegion part{region.y, region.x};
  const std::lock_guard lock(region_mutex_);
  region_ = region_ ? around(*region_, part) : part;
}

std::optional<PictureRegion> ProgressEvents::take_region() {
  const std::lock_guard lock(region_mutex_);
  return std::exchange(region_, {});
}

void ProgressEvents::start_micro_batch(const Plan& plan) {
  item_ += items_;
  if (item_ >= plan.request.batch) item_ = 0;  // another decode of the same plan
  items_ = plan.micro_batch;
}

/// Weights passes by their predicted time, or equally if no time is predicted.
void ProgressEvents::start_pass(const Plan& plan, size_t pass) {
  double before = 0, after = 0, all = 0;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    all += plan.passes[i].predicted_seconds;
    if (i < pass) before = all;
    if (i == pass) after = all;
  }
  const double passes = double(plan.passes.size());
  pass_begin_share_ = all > 0 ? before / all : double(pass) / passes;
  pass_end_share_ = all > 0 ? after / all : double(pass + 1) / passes;
}

void ProgressEvents::weigh_steps(const Plan& plan, const Pass& pass) {
  done_after_.assign(pass.steps.size(), 1 / double(std::max<size_t>(1, pass.steps.size())));
  if (graph_ != nullptr)
    done_after_ = shares_of_steps(*graph_, pass, longest_tile(pass), sizes_of(*graph_, plan));
  std::partial_sum(done_after_.begin(), done_after_.end(), done_after_.begin());
}

/// Exactly 1 at the end, where a sum of shares might be a little less.
double ProgressEvents::share(const Plan& plan, double done) const {
  const double of_micro_batch = std::lerp(pass_begin_share_, pass_end_share_, done / double(tiles_));
  const double of_part = (double(item_) + double(items_) * of_micro_batch) / double(plan.request.batch);
  return std::clamp(std::lerp(begin_share_, end_share_, of_part), 0.0, 1.0);
}

void ProgressEvents::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  ForwardingEvents::tile_started(plan, pass, tile, tiles);
  if (pass == 0 && tile == 0) start_micro_batch(plan);
  if (tile > 0) return;
  tiles_ = tiles;
  start_pass(plan, static_cast<size_t>(pass));
  weigh_steps(plan, plan.passes[static_cast<size_t>(pass)]);
  told_ = std::chrono::steady_clock::now();
  progress_.tell(PassStarted{item_, pass, static_cast<int64_t>(plan.passes.size()),
                             plan.passes[static_cast<size_t>(pass)].name});
}

void ProgressEvents::step_done(const Plan& plan, const StepDone& done) {
  ForwardingEvents::step_done(plan, done);
  const size_t steps = plan.passes[static_cast<size_t>(done.pass)].steps.size();
  const auto now = std::chrono::steady_clock::now();
  const auto step = static_cast<size_t>(done.step);
  if (step + 1 == steps) {
    progress_.tell(
        TileDone{item_, done.pass, done.tile, tiles_, share(plan, double(done.tile + 1)), take_region()});
    told_ = now;
  } else if (now - told_ >= kStepsPeriod && step < done_after_.size()) {
    progress_.tell(StepsDone{item_, done.pass, done.tile, done.step + 1, static_cast<int64_t>(steps),
                             share(plan, double(done.tile) + done_after_[step])});
    told_ = now;
  }
  sample_memory();
}

void ProgressEvents::step_part_done(const Plan& plan, const StepPart& part) {
  ForwardingEvents::step_part_done(plan, part);
  const auto now = std::chrono::steady_clock::now();
  const auto step = static_cast<size_t>(part.step);
  if (now - told_ < kStepsPeriod || step >= done_after_.size()) return;
  const double before = step > 0 ? done_after_[step - 1] : 0;
  const double done = before + (done_after_[step] - before) * part.share;
  progress_.tell(StepsDone{item_, part.pass, part.tile, part.step, static_cast<int64_t>(done_after_.size()),
                           share(plan, double(part.tile) + done), part.share});
  told_ = now;
  sample_memory();
}

void ProgressEvents::sample_memory() {
  if (!progress_.wants_memory()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - sampled_ < kSamplePeriod) return;
  sampled_ = now;
  const int64_t live_bytes = live_bytes_;
  const int64_t outside = headroom::resident_bytes() - resident_before_ - resident_bytes_;
  progress_.tell(MemorySample{live_bytes, std::max(live_bytes, peak_bytes_.exchange(live_bytes)),
                              std::max<int64_t>(0, outside)});
}

MemoryObserver* ProgressEvents::memory_observer() {
  next_observer_ = ForwardingEvents::memory_observer();
  return progress_.wants_memory() ? this : next_observer_;
}

void ProgressEvents::allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) {
  if (next_observer_ != nullptr) next_observer_->allocated(memory, bytes, live_bytes, warm_bytes);
  live_bytes_ = live_bytes;
  resident_bytes_ = live_bytes + warm_bytes;
  if (live_bytes > peak_bytes_) peak_bytes_ = live_bytes;
}

void ProgressEvents::freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) {
  if (next_observer_ != nullptr) next_observer_->freed(memory, bytes, live_bytes, warm_bytes);
  live_bytes_ = live_bytes;
  resident_bytes_ = live_bytes + warm_bytes;
}

void ProgressEvents::moved(const void* from, const void* to) {
  if (next_observer_ != nullptr) next_observer_->moved(from, to);
}

RunBegun begun(const std::string& program, const Plan& plan) {
  RunBegun news;
  news.program = program;
  news.model = plan.request.model;
  news.limit_bytes = plan.limit_bytes;
  news.predicted_peak_bytes = plan.predicted_peak_bytes;
  news.predicted_seconds = plan.predicted_seconds;
  news.width_pixels = plan.request.width_pixels;
  news.height_pixels = plan.request.height_pixels;
  news.batch = plan.request.batch;
  news.passes = static_cast<int64_t>(plan.passes.size());
  return news;
}

}  // namespace headroom
