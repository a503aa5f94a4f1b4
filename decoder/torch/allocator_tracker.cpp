#include "decoder/torch/allocator_tracker.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <mutex>
#include <utility>

namespace headroom::gpu {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using What = AllocatorEvent::What;

/// LibTorch cannot detach a tracker from its allocator. So one tracker stays attached and reports to the
/// current watcher. Lock order: the allocator's lock, then this one's.
class Tracker {
 public:
  static Tracker& of_process() {
    static auto* tracker = new Tracker;  // never destroyed, because the allocator outlives all else
    return *tracker;
  }

  bool attach(c10::DeviceIndex device) {
    const std::lock_guard lock(attaching_);
    if (tried_) return attached_ && device == device_;
    tried_ = true;  // try once: a second tracker could not be detached either
    device_ = device;
    try {
      allocator::attachAllocatorTraceTracker([this](const allocator::TraceEntry& entry) {
        const std::optional<AllocatorEvent> event = segment_event(entry);
        if (event && entry.device_ == device_) tell(*event);
      });
      // The trace would report rounded bytes.
      allocator::attachOutOfMemoryObserver([this](int64_t on, size_t bytes, size_t, size_t free) {
        if (on == device_) tell({What::refused, 0, static_cast<int64_t>(bytes), static_cast<int64_t>(free)});
      });
      attached_ = true;
    } catch (const std::exception&) {  // not every allocator of LibTorch's can be watched
    }
    return attached_;
  }

  void set(AllocatorWatch watch) {
    // The old one is destroyed after the lock.
    const std::lock_guard lock(telling_);
    std::swap(watch_, watch);
  }

 private:
  void tell(const AllocatorEvent& event) {
    const std::lock_guard lock(telling_);
    if (!watch_) return;
    try {
      watch_(event);
    } catch (...) {  // must not reach the allocator, which is in the middle of an update
    }
  }

  std::mutex attaching_;
  bool tried_ = false, attached_ = false;
  c10::DeviceIndex device_ = 0;
  std::mutex telling_;
  AllocatorWatch watch_;
};

}  // namespace

std::optional<AllocatorEvent> segment_event(const c10::CachingDeviceAllocator::TraceEntry& entry) {
  const auto event = [&](What what) {
    return AllocatorEvent{what, entry.addr_, static_cast<int64_t>(entry.size_), 0};
  };
  switch (entry.action_) {
    case allocator::TraceEntry::SEGMENT_ALLOC:
    case allocator::TraceEntry::SEGMENT_MAP:
      return event(What::taken);
    case allocator::TraceEntry::SEGMENT_FREE:
    case allocator::TraceEntry::SEGMENT_UNMAP:
      return event(What::returned);
    default:
      return {};
  }
}

bool watch_libtorch_allocator(AllocatorWatch watch) {
  Tracker& tracker = Tracker::of_process();
  if (!watch) {
    tracker.set({});
    return true;
  }
  allocator::init(c10::cuda::device_count());  // trackers attach only to a started allocator
  if (!tracker.attach(c10::cuda::current_device())) return false;
  tracker.set(std::move(watch));
  return true;
}

}  // namespace headroom::gpu
