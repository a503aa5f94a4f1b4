#include "profiler/measure/device_recorder.h"

#include <utility>

#include "decoder/files/picture_sink.h"
#include "decoder/session/environment.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/session.h"

namespace headroom::profiler {
namespace {

constexpr size_t kMostEvents = 4'000'000;

uint64_t number_of(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

}  // namespace

bool DeviceRecorder::add(DeviceEvent event) {
  if (recording_.events.size() >= kMostEvents) {
    ++lost_;
    return false;
  }
  recording_.events.push_back(std::move(event));
  return true;
}

void DeviceRecorder::capture(DeviceEvent event) {
  const std::lock_guard lock(mutex_);
  if (const auto* lost = std::get_if<RecordsLost>(&event)) {
    lost_ += lost->count;  // counts even if the recording is full
  } else {
    add(std::move(event));
  }
}

DeviceRecording DeviceRecorder::finish() {
  watcher_.enter(kNoScope);
  watcher_.finish([&](DeviceEvent event) { capture(std::move(event)); });
  const std::lock_guard lock(mutex_);
  for (TraceSource& source : watcher_.sources()) recording_.sources.push_back(std::move(source));
  if (lost_ > 0) recording_.events.push_back(RecordsLost{lost_});
  return std::move(recording_);
}

void DeviceRecorder::begin_scope(int64_t item, int32_t pass, int64_t tile, int32_t step) {
  const ScopeId scope{++scopes_};
  {
    const std::lock_guard lock(mutex_);
    add(ScopeBegan{watcher_.now_ns(), scope, item, pass, tile, step});
  }
  watcher_.enter(scope);
}

void DeviceRecorder::pass_started(const Plan& plan, int32_t pass) {
  if (pass == 0) {
    item_ += micro_batch_items_;
    micro_batch_items_ = plan.micro_batch;
  }
  begin_scope(item_, pass, -1, -1);
}

void DeviceRecorder::tile_started(const Plan&, int32_t pass, int64_t tile, int64_t) {
  begin_scope(item_, pass, tile, 0);
}

void DeviceRecorder::step_done(const Plan& plan, const StepDone& done) {
  const size_t steps = plan.passes[static_cast<size_t>(done.pass)].steps.size();
  const bool last = static_cast<size_t>(done.step) + 1 == steps;
  begin_scope(done.item, done.pass, last ? -1 : done.tile, last ? -1 : done.step + 1);
}

void DeviceRecorder::allocating(MemoryKind kind, TensorId tensor) {
  const std::lock_guard lock(mutex_);
  kind_ = kind;
  layer_ = tensor;
  since_allocating_.clear();
}

/// An allocation is known to be a tile only after it was made.
void DeviceRecorder::holds_tile(const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = since_allocating_.find(memory);
  if (found != since_allocating_.end())
    std::get<Allocated>(recording_.events[found->second]).kind = MemoryKind::tile;
}

void DeviceRecorder::device_memory(const DeviceMemoryUse& use) {
  if (scopes_ == 0) begin_scope(0, -1, -1, -1);  // loading weights precedes the passes
  const std::lock_guard lock(mutex_);
  const int64_t at_ns = watcher_.now_ns();
  if (!allocator_is_captured_ && use.reserved_bytes != reserved_bytes_) {
    const uint64_t address = number_of(use.reserved);
    if (reserved_bytes_ > 0) add(SegmentChanged{at_ns, address, -reserved_bytes_});
    add(SegmentChanged{at_ns, address, use.reserved_bytes});
    reserved_bytes_ = use.reserved_bytes;
  }
  add(DriverCounted{at_ns, use.driver_bytes});
}

void DeviceRecorder::allocated(const void* memory, int64_t bytes, int64_t, int64_t) {
  const std::lock_guard lock(mutex_);
  const size_t event = recording_.events.size();
  const Allocated allocated{watcher_.now_ns(), number_of(memory), bytes, kind_, layer_};
  held_[memory] = allocated;
  if (add(allocated)) since_allocating_[memory] = event;
}

void DeviceRecorder::freed(const void* memory, int64_t, int64_t, int64_t) {
  const std::lock_guard lock(mutex_);
  held_.erase(memory);
  add(Freed{watcher_.now_ns(), number_of(memory)});
}

/// Recordings have no event for moves, so a move becomes a free and an allocation.
void DeviceRecorder::moved(const void* from, const void* to) {
  const std::lock_guard lock(mutex_);
  auto held = held_.extract(from);
  if (held.empty()) return;
  add(Freed{watcher_.now_ns(), number_of(from)});
  held.mapped().at_ns = watcher_.now_ns();
  held.mapped().address = number_of(to);
  add(held.mapped());
  held.key() = to;
  held_.insert(std::move(held));
}

namespace {

/// While this object lives, LibTorch's allocator reports its segments to the recorder.
class AllocatorCaptured {
 public:
  AllocatorCaptured(gpu::Gpu* gpu, const DeviceWatcher& watcher, DeviceRecorder& recorder) {
    const bool captured = gpu != nullptr && gpu->watch_allocator([&](const gpu::AllocatorEvent& event) {
      const int64_t at_ns = watcher.now_ns();
      switch (event.what) {
        case gpu::AllocatorEvent::What::taken:
          return recorder.capture(SegmentChanged{at_ns, event.address, event.bytes});
        case gpu::AllocatorEvent::What::returned:
          return recorder.capture(SegmentChanged{at_ns, event.address, -event.bytes});
        case gpu::AllocatorEvent::What::refused:
          return recorder.capture(MemoryRefused{at_ns, event.bytes, event.free_bytes});
      }
    });
    if (!captured) return;
    gpu_ = gpu;
    recorder.allocator_is_captured();
  }
  ~AllocatorCaptured() {
    if (gpu_ != nullptr) gpu_->watch_allocator({});
  }
  AllocatorCaptured(const AllocatorCaptured&) = delete;
  AllocatorCaptured& operator=(const AllocatorCaptured&) = delete;

  bool captured() const { return gpu_ != nullptr; }

 private:
  gpu::Gpu* gpu_ = nullptr;
};

}  // namespace

RecordedDecode record_decode(const Model& model, const Plan& plan, const ParameterSource& weights,
                             const Array& latent, const Recording& how) {
  DiscardingSink sink(picture_shape(model.graph, plan.request));
  DeviceRecorder recorder(how.watcher);
  const AllocatorCaptured allocator(how.allocator ? how.gpu : nullptr, how.watcher, recorder);
  EventSink* events = how.with_events ? how.with_events(&recorder) : &recorder;
  RecordedDecode recorded;
  recorded.stats = decode(model, plan, weights, latent, sink, {events, how.loading, how.gpu});
  recorded.recording = recorder.finish();
  if (how.gpu != nullptr && how.allocator) {
    recorded.recording.sources.insert(recorded.recording.sources.begin(),
                                      {"LibTorch's allocator", allocator.captured(),
                                       allocator.captured() ? "" : "it reports nothing here"});
  }
  recorded.recording.device = recorded.stats.device;
  recorded.recording.libraries = recorded.stats.libraries;
  return recorded;
}

}  // namespace headroom::profiler
