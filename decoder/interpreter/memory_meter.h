#pragma once

#include <cstdint>

namespace headroom {

/// Memory in use on a device, and its peak.
class MemoryMeter {
 public:
  virtual ~MemoryMeter() = default;
  virtual int64_t live_bytes() const = 0;
  /// window_peak_bytes() is the peak of live_bytes() since start_window().
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;
};

}  // namespace headroom
