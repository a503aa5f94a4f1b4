#include "decoder/runtime/trace_recorder.h"

#include <algorithm>
#include <numeric>

#include "decoder/runtime/process_memory.h"

namespace headroom {
namespace {

int64_t sum(const std::array<int64_t, kAllocationKinds>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

}  // namespace

TraceRecorder::TraceRecorder(EventSink* next, const TraceBounds& bounds)
    : next_(next),
      bounds_(bounds),
      start_(std::chrono::steady_clock::now()),
      resident_at_start_(resident_bytes()) {}

Trace TraceRecorder::finish() {
  const std::lock_guard lock(mutex_);
  end_pass();
  sum_up();
  sample_outside();
  trace_.seconds = now();
  for (const auto& entry : step_sums_) trace_.step_sums.push_back(entry.second);
  return std::move(trace_);
}

void TraceRecorder::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  {
    const std::lock_guard lock(mutex_);
    const double at = now();
    if (tile == 0) {
      end_pass();
      pass_ = {.begin_seconds = at, .end_seconds = at, .pass = pass};
      in_pass_ = true;
      if (detail_ == Detail::passes) sum_up();
    }
    tile_ = {.begin_seconds = at, .end_seconds = at, .pass = pass, .tile = tile};
    in_tile_ = true;
    if (trace_.outside.empty() || at - trace_.outside.back().seconds >= sample_period_seconds_)
      sample_outside();
  }
  if (next_ != nullptr) next_->tile_started(plan, pass, tile, tiles);
}

void TraceRecorder::step_done(const Plan& plan, const StepDone& done) {
  {
    const std::lock_guard lock(mutex_);
    const double at = now();
    pass_.item = tile_.item = done.item;
    pass_.end_seconds = tile_.end_seconds = at;
    if (trace_.steps.size() < bounds_.steps) {
      trace_.steps.push_back({at - done.seconds, at, done.item, done.pass, done.tile, done.step});
    } else {
      ++trace_.steps_left_out;
    }
    TraceStepSum& total =
        step_sums_.try_emplace({done.pass, done.step}, TraceStepSum{done.pass, done.step, 0, 0})
            .first->second;
    ++total.calls;
    total.seconds += done.seconds;
    if (detail_ == Detail::steps) sum_up();
    const size_t steps = plan.passes[static_cast<size_t>(done.pass)].steps.size();
    if (static_cast<size_t>(done.step) + 1 == steps) {
      if (trace_.tiles.size() < bounds_.tiles) {
        trace_.tiles.push_back(tile_);
      } else {
        ++trace_.tiles_left_out;
      }
      in_tile_ = false;
    }
    if (trace_.outside.empty() || at - trace_.outside.back().seconds >= sample_period_seconds_)
      sample_outside();
  }
  if (next_ != nullptr) next_->step_done(plan, done);
}

void TraceRecorder::end_pass() {
  if (in_pass_) trace_.passes.push_back(pass_);
  in_pass_ = in_tile_ = false;
}

void TraceRecorder::allocating(AllocationKind kind, TensorId tensor) {
  const std::lock_guard lock(mutex_);
  kind_ = kind;
  layer_ = tensor;
  step_start_ = allocations_;
}

/// A library makes its result itself, so that it is known as one only afterwards.
void TraceRecorder::holds_tile(const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(memory);
  if (found == held_.end() || found->second.number <= step_start_) return;
  Held& held = found->second;
  const auto move = [&](Bytes& bytes) {
    bytes[static_cast<size_t>(held.kind)] -= held.bytes;
    bytes[static_cast<size_t>(AllocationKind::tile)] += held.bytes;
  };
  move(live_);
  if (held.number <= highest_at_) move(highest_);
  if (held.event >= 0) {
    trace_.events[static_cast<size_t>(held.event)].kind = AllocationKind::tile;
    move(written_);
  }
  held.kind = AllocationKind::tile;
}

void TraceRecorder::allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) {
  const std::lock_guard lock(mutex_);
  pool_resident_bytes_ = live_bytes + warm_bytes;
  const bool single = detail_ == Detail::single;
  held_[memory] = {bytes, ++allocations_, single ? static_cast<int64_t>(trace_.events.size()) : -1, layer_,
                   kind_};
  count(kind_, bytes, layer_);
}

void TraceRecorder::freed(const void* memory, int64_t, int64_t live_bytes, int64_t warm_bytes) {
  const std::lock_guard lock(mutex_);
  pool_resident_bytes_ = live_bytes + warm_bytes;
  const auto found = held_.find(memory);
  if (found == held_.end()) return;
  count(found->second.kind, -found->second.bytes, found->second.layer);
  held_.erase(found);
}

void TraceRecorder::count(AllocationKind kind, int64_t bytes, TensorId layer) {
  live_[static_cast<size_t>(kind)] += bytes;
  const double at = now();
  if (detail_ == Detail::single) {
    trace_.events.push_back({at, bytes, in_tile_ ? tile_.tile : -1, in_pass_ ? pass_.pass : -1, layer, kind});
    written_ = live_;
    if (trace_.events.size() >= bounds_.single_events) {
      detail_ = Detail::steps;
      trace_.summed_by_step_from_seconds = at;
      highest_ = live_;
      highest_bytes_ = sum(live_);
      highest_at_ = allocations_;
      highest_seconds_ = at;
    }
  } else if (const int64_t total = sum(live_); total > highest_bytes_) {
    highest_ = live_;
    highest_bytes_ = total;
    highest_at_ = allocations_;
    highest_seconds_ = at;
  }
}

void TraceRecorder::put(const Bytes& target, double seconds) {
  for (size_t kind = 0; kind < kAllocationKinds; ++kind) {
    const int64_t bytes = target[kind] - written_[kind];
    if (bytes == 0) continue;
    trace_.events.push_back({seconds, bytes, detail_ == Detail::steps && in_tile_ ? tile_.tile : -1,
                             in_pass_ ? pass_.pass : -1, TensorId{-1}, static_cast<AllocationKind>(kind)});
  }
  written_ = target;
}

void TraceRecorder::sum_up() {
  if (detail_ == Detail::single) return;
  put(highest_, highest_seconds_);
  const double at = now();
  put(live_, at);
  highest_ = live_;
  highest_bytes_ = sum(live_);
  highest_at_ = allocations_;
  highest_seconds_ = at;
  if (detail_ == Detail::steps && trace_.events.size() >= bounds_.events) {
    detail_ = Detail::passes;
    trace_.summed_by_pass_from_seconds = at;
  }
}

void TraceRecorder::sample_outside() {
  trace_.outside.push_back(
      {now(), std::max<int64_t>(0, resident_bytes() - resident_at_start_ - pool_resident_bytes_)});
  if (trace_.outside.size() < bounds_.outside) return;
  // Half as many, and half as often from here on.
  size_t kept = 0;
  for (size_t i = 0; i < trace_.outside.size(); i += 2) trace_.outside[kept++] = trace_.outside[i];
  trace_.outside.resize(kept);
  sample_period_seconds_ *= 2;
}

}  // namespace headroom
