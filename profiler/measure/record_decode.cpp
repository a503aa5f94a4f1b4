#include "profiler/measure/record_decode.h"

#include "decoder/files/picture_sink.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/session.h"
#include "profiler/measure/device_recorder.h"

namespace headroom::profiler {
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
