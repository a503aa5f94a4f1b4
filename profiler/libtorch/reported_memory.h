#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <memory>

#include "profiler/eager/allocation_log.h"

namespace headroom::profiler {

/// While it lives, what LibTorch's allocator of a device does on this thread goes into the log, as it goes
/// to LibTorch's profiler. On the CPU the allocator has nothing of its own: reserved is what the heap set
/// aside for each request.
class ReportedMemory {
 public:
  ReportedMemory(AllocationLog& log, c10::DeviceType device);
  ~ReportedMemory();
  ReportedMemory(const ReportedMemory&) = delete;
  ReportedMemory& operator=(const ReportedMemory&) = delete;

  /// Of the same allocator, from before this was made.
  void add(void* memory, int64_t bytes);

 private:
  std::shared_ptr<c10::MemoryReportingInfoBase> reporter_;
  std::unique_ptr<c10::DebugInfoGuard> guard_;
};

}  // namespace headroom::profiler
