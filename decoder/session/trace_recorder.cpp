#include "decoder/session/trace_recorder.h"

#include <algorithm>

#include "decoder/base/os/process_memory.h"
#include "decoder/schedule/storage.h"

namespace headroom {

TraceRecorder::TraceRecorder(EventSink* next, const TraceBounds& bounds)
    : ForwardingEvents(next),
      trace_(bounds),
      start_(std::chrono::steady_clock::now()),
      resident_at_start_(resident_bytes()) {}

Trace TraceRecorder::finish() {
  const std::lock_guard lock(mutex_);
  sample_outside();
  Trace trace = trace_.finish(now());
  trace.driver = std::move(driver_);
  return trace;
}

void TraceRecorder::pass_started(const Plan& plan, int32_t pass) {
  {
    const std::lock_guard lock(mutex_);
    trace_.pass_started(now(), pass);
  }
  ForwardingEvents::pass_started(plan, pass);
}

void TraceRecorder::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  {
    const std::lock_guard lock(mutex_);
    const double at = now();
    trace_.tile_started(at, pass, tile);
    if (trace_.outside_is_due(at)) sample_outside();
  }
  ForwardingEvents::tile_started(plan, pass, tile, tiles);
}

void TraceRecorder::step_done(const Plan& plan, const StepDone& done) {
  {
    const std::lock_guard lock(mutex_);
    const double at = now();
    trace_.step_done(at, plan, {at - done.seconds, at, done.item, done.pass, done.tile, done.step});
    if (trace_.outside_is_due(at)) sample_outside();
  }
  ForwardingEvents::step_done(plan, done);
}

void TraceRecorder::allocating(MemoryKind kind, TensorId tensor) {
  const std::lock_guard lock(mutex_);
  kind_ = kind;
  layer_ = tensor;
  trace_.allocating();
}

void TraceRecorder::holds_tile(const void* memory) {
  const std::lock_guard lock(mutex_);
  trace_.holds_tile(memory);
}

void TraceRecorder::device_memory(const DeviceMemoryUse& use) {
  const std::lock_guard lock(mutex_);
  const double at = now();
  // The driver's other bytes are the context, its modules and library allocations. The driver does not tell
  // them apart.
  const auto beside = [](const DeviceMemoryUse& of) {
    return std::max<int64_t>(0, of.driver_bytes - of.reserved_bytes);
  };
  trace_.changed(at, MemoryKind::slack, use.reserved_bytes - device_.reserved_bytes);
  trace_.changed(at, MemoryKind::context, beside(use) - beside(device_));
  driver_.push_back({at, use.driver_bytes});
  device_ = use;
}

void TraceRecorder::exchanged(const Exchanged& done) {
  {
    const std::lock_guard lock(mutex_);
    const double at = now();
    trace_.exchanged(std::max(0.0, at - done.seconds), at, done.call, done.sent_bytes);
  }
  ForwardingEvents::exchanged(done);
}

void TraceRecorder::allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) {
  const std::lock_guard lock(mutex_);
  pool_resident_bytes_ = live_bytes + warm_bytes;
  const double at = now();
  trace_.allocated(at, memory, bytes, kind_, layer_);
  if (bytes >= cpu::kSmallestPagedBytes) trace_.placed(at, memory);
}

void TraceRecorder::freed(const void* memory, int64_t, int64_t live_bytes, int64_t warm_bytes) {
  const std::lock_guard lock(mutex_);
  pool_resident_bytes_ = live_bytes + warm_bytes;
  trace_.freed(now(), memory);
}

void TraceRecorder::moved(const void* from, const void* to) {
  const std::lock_guard lock(mutex_);
  trace_.moved(now(), from, to);
}

void TraceRecorder::sample_outside() {
  if (!driver_.empty()) return;  // on a GPU only the driver's samples count
  trace_.sample_outside(now(),
                        std::max<int64_t>(0, resident_bytes() - resident_at_start_ - pool_resident_bytes_));
}

}  // namespace headroom
