#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "decoder/cpu/packed_weights.h"
#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Records a decode's events with the watcher's clock, and enters a watcher scope for each step. Pass it to
/// decode() as its event sink. Holds a few million events and counts further ones as lost.
class DeviceRecorder final : public EventSink, private MemoryObserver {
 public:
  /// The watcher must outlive it.
  explicit DeviceRecorder(DeviceWatcher& watcher) : watcher_(watcher) {}

  /// Adds an event from another source. Thread-safe.
  void capture(DeviceEvent event);
  /// Tells the recorder that LibTorch's allocator reports the decode's reservation itself.
  void allocator_is_captured() { allocator_is_captured_ = true; }
  /// Returns all captured events. Call it after the decode, when the device has finished all work. The caller
  /// fills in the device and library names.
  DeviceRecording finish();

  void pass_started(const Plan& plan, int32_t pass) override;
  void step_done(const Plan& plan, const StepDone& done) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  void allocating(MemoryKind kind, TensorId tensor) override;
  void holds_tile(const void* memory) override;
  void device_memory(const DeviceMemoryUse& use) override;
  bool watches_device_memory() const override { return true; }
  MemoryObserver* memory_observer() override { return this; }

 private:
  void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void moved(const void* from, const void* to) override;
  void begin_scope(int64_t item, int32_t pass, int64_t tile, int32_t step);
  /// Returns false if the recording is full. The caller must hold the lock.
  bool add(DeviceEvent event);

  DeviceWatcher& watcher_;
  std::mutex mutex_;
  DeviceRecording recording_;
  /// By address: allocation events since the last allocating().
  std::unordered_map<const void*, size_t> since_allocating_;
  std::unordered_map<const void*, Allocated> held_;  ///< live allocations by address
  MemoryKind kind_ = MemoryKind::weights;
  TensorId layer_{-1};
  uint64_t scopes_ = 0;
  int64_t item_ = 0, micro_batch_items_ = 0;  ///< first item of the current micro-batch, and its size
  int64_t reserved_bytes_ = 0;
  int64_t lost_ = 0;
  bool allocator_is_captured_ = false;
};

struct RecordedDecode {
  RunStats stats;
  DeviceRecording recording;
};

/// Settings for recording a decode.
struct Recording {
  DeviceWatcher& watcher;
  gpu::Gpu* gpu = nullptr;  ///< GPU to decode on; null for a CPU plan
  bool allocator = true;    ///< captures LibTorch's allocator; GPU only
  /// Wraps the recorder in the event sink that decode() gets, for example to forward events to other sinks
  /// too.
  std::function<EventSink*(EventSink* recorder)> with_events{};
  std::function<void(double)> loading{};
};

/// Decodes, discards the picture and returns all captured events. Call start_libraries() first. Throws the
/// exceptions of decode().
RecordedDecode record_decode(const Model& model, const Plan& plan, const ParameterSource& weights,
                             const Array& latent, const Recording& how);

}  // namespace headroom::profiler
