#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// All that is known to be taken from the driver, and by whom: by LibTorch's allocator in segments, or by
/// libraries themselves. Of a segment both may tell, the allocator and the driver; it counts once, with what
/// the driver gave for it. Where something was not heard, the books are set right as soon as that shows.
class DriverLedger {
 public:
  /// The events must outlive it. The driver tells of a segment before the allocator does, so all are looked
  /// at beforehand.
  explicit DriverLedger(const std::vector<DeviceEvent>& events);

  /// To be called in the order of times with a SegmentChanged, DriverMemoryChanged or DriverPoolChanged;
  /// other events are of no matter. False where it contradicts what came before: something was not heard.
  bool apply(size_t event);

  int64_t segment_bytes() const { return segment_bytes_; }
  int64_t library_bytes() const { return library_bytes_; }

 private:
  struct Segment {
    int64_t bytes = 0;          ///< that the allocator tells of
    int64_t counted_bytes = 0;  ///< that the driver gave for them
  };

  bool apply_segment(const SegmentChanged& change);
  bool unmap(uint64_t address, int64_t bytes);
  bool apply_driver(const DriverMemoryChanged& change, bool is_segment);
  void set_pool(uint64_t pool, int64_t size_bytes);

  const std::vector<DeviceEvent>& events_;
  std::vector<bool> is_segment_;  ///< by event: what the driver tells of there is a segment
  std::map<uint64_t, Segment> segments_;
  std::map<uint64_t, int64_t> driver_segments_;  ///< as the driver told of them: bytes by address
  std::map<uint64_t, int64_t> libraries_, pools_;
  int64_t segment_bytes_ = 0, library_bytes_ = 0;
};

}  // namespace headroom::profiler
