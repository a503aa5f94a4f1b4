#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Running totals of memory allocated from the driver: segments of LibTorch's allocator, and allocations by
/// libraries. Both the allocator and the driver may report a segment. It counts once, with the larger size.
/// If an event was not captured, the next event that contradicts the totals corrects them.
class DriverLedger {
 public:
  /// The events must outlive the ledger. The constructor scans all of them, because the driver reports a
  /// segment before the allocator does.
  explicit DriverLedger(const std::vector<DeviceEvent>& events);

  /// Applies a SegmentChanged, DriverMemoryChanged or DriverPoolChanged; ignores other events. Call it in
  /// order of time. Returns false if the event contradicts earlier ones, so one was not captured.
  bool apply(size_t event);

  int64_t segment_bytes() const { return segment_bytes_; }
  int64_t library_bytes() const { return library_bytes_; }

 private:
  struct Segment {
    int64_t bytes = 0;          ///< size reported by the allocator
    int64_t counted_bytes = 0;  ///< larger of the allocator's and the driver's size
  };

  bool apply_segment(const SegmentChanged& change);
  bool unmap(uint64_t address, int64_t bytes);
  bool apply_driver(const DriverMemoryChanged& change, bool is_segment);
  void set_pool(uint64_t pool, int64_t size_bytes);

  const std::vector<DeviceEvent>& events_;
  std::vector<bool> is_segment_;  ///< by event: true if it is the driver's report of a segment
  std::map<uint64_t, Segment> segments_;
  std::map<uint64_t, int64_t> driver_segments_;  ///< segment sizes from the driver, by address
  std::map<uint64_t, int64_t> libraries_, pools_;
  int64_t segment_bytes_ = 0, library_bytes_ = 0;
};

}  // namespace headroom::profiler
