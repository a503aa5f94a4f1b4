#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Memory that is known to be taken from the driver, and by whom: by LibTorch's allocator in segments, or by
/// libraries themselves. Both the allocator and the driver may report a segment. It counts once, with the
/// bytes that the driver gave for it. Where an event was not captured, the sums are corrected by the next
/// event that contradicts them.
class DriverLedger {
 public:
  /// The events must outlive it. The driver reports a segment before the allocator does, so all events
  /// are looked at beforehand.
  explicit DriverLedger(const std::vector<DeviceEvent>& events);

  /// To be called in the order of times with a SegmentChanged, DriverMemoryChanged or DriverPoolChanged;
  /// other events change nothing. False where it contradicts what came before: an event was not captured.
  bool apply(size_t event);

  int64_t segment_bytes() const { return segment_bytes_; }
  int64_t library_bytes() const { return library_bytes_; }

 private:
  struct Segment {
    int64_t bytes = 0;          ///< reported by the allocator
    int64_t counted_bytes = 0;  ///< given by the driver for them
  };

  bool apply_segment(const SegmentChanged& change);
  bool unmap(uint64_t address, int64_t bytes);
  bool apply_driver(const DriverMemoryChanged& change, bool is_segment);
  void set_pool(uint64_t pool, int64_t size_bytes);

  const std::vector<DeviceEvent>& events_;
  std::vector<bool> is_segment_;  ///< by event: whether what the driver reports there is a segment
  std::map<uint64_t, Segment> segments_;
  std::map<uint64_t, int64_t> driver_segments_;  ///< as the driver reported them: bytes by address
  std::map<uint64_t, int64_t> libraries_, pools_;
  int64_t segment_bytes_ = 0, library_bytes_ = 0;
};

}  // namespace headroom::profiler
