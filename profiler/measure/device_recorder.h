#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "decoder/interpreter/events.h"
#include "profiler/events/device_watcher.h"

namespace headroom::profiler {

/// Records a decode's own events by the clock of the watcher beside it, and tells that watcher for which step
/// the host asks. It is given to decode() as its events. It holds some million events and counts those
/// beyond.
class DeviceRecorder final : public EventSink, private MemoryObserver {
 public:
  /// The watcher must outlive it.
  explicit DeviceRecorder(DeviceWatcher& watcher) : watcher_(watcher) {}

  /// An event that somebody else captured, on any thread.
  void capture(DeviceEvent event);
  /// LibTorch's allocator reports the decode's reservation itself.
  void allocator_is_captured() { allocator_is_captured_ = true; }
  /// All captured events, once the decode is over and the device has done all its work. Names are left to the
  /// caller.
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
  /// Under the lock. False where there is no room for more.
  bool add(DeviceEvent event);

  DeviceWatcher& watcher_;
  std::mutex mutex_;
  DeviceRecording recording_;
  std::unordered_map<const void*, size_t> since_allocating_;  ///< events that took memory, by address
  std::unordered_map<const void*, Allocated> held_;           ///< by address
  MemoryKind kind_ = MemoryKind::weights;
  TensorId layer_{-1};
  uint64_t scopes_ = 0;
  int64_t item_ = 0, micro_batch_items_ = 0;  ///< the micro-batch that runs, and how many it has
  int64_t reserved_bytes_ = 0;
  int64_t lost_ = 0;
  bool allocator_is_captured_ = false;
};

}  // namespace headroom::profiler
