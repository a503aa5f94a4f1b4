#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "decoder/trace/trace.h"

// Events that can be captured while a device decodes. The decode, LibTorch's allocator and the driver all
// report in these types, so readers of the events depend on none of these libraries. Times are nanoseconds of
// one clock throughout a recording. Events need not come in the order of their times.
namespace headroom::profiler {

/// A scope: the host's work from one step to the next. Numbered from 1.
enum class ScopeId : uint64_t {};
constexpr ScopeId kNoScope{0};

/// From here on, until the next scope begins, the host asks for the work of this step; -1 between steps.
struct ScopeBegan {
  int64_t at_ns = 0;
  ScopeId scope = kNoScope;
  int64_t item = 0;  ///< first batch item of the micro-batch
  int32_t pass = -1;
  int64_t tile = -1;
  int32_t step = -1;
  friend bool operator==(const ScopeBegan&, const ScopeBegan&) = default;
};

/// The decode has memory for something.
struct Allocated {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
  MemoryKind kind{};  ///< one of the first kDecodeKinds
  TensorId layer{-1};
  friend bool operator==(const Allocated&, const Allocated&) = default;
};
/// The decode gave that memory back.
struct Freed {
  int64_t at_ns = 0;
  uint64_t address = 0;
  friend bool operator==(const Freed&, const Freed&) = default;
};

/// LibTorch's allocator took a segment from the driver or gave it back, or mapped or unmapped part of one.
struct SegmentChanged {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;  ///< below zero: given back
  friend bool operator==(const SegmentChanged&, const SegmentChanged&) = default;
};

/// LibTorch's allocator was refused memory.
struct MemoryRefused {
  int64_t at_ns = 0;
  int64_t asked_bytes = 0;
  int64_t free_bytes = 0;  ///< of the device, then
  friend bool operator==(const MemoryRefused&, const MemoryRefused&) = default;
};

enum class MemoryPlace : uint8_t { device, pinned, managed, pageable, unknown };

/// The driver handed memory out or took it back.
struct DriverMemoryChanged {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;         ///< 0 or below: all at this address taken back
  uint32_t correlation = 0;  ///< counts the driver's calls; begins again after 2^32 of them
  MemoryPlace place = MemoryPlace::device;
  uint64_t pool = 0;            ///< of the driver's pools; 0: of none
  int64_t pool_size_bytes = 0;  ///< all that this pool has of the device afterwards
  friend bool operator==(const DriverMemoryChanged&, const DriverMemoryChanged&) = default;
};

/// A pool of the driver's came, went or was trimmed.
struct DriverPoolChanged {
  int64_t at_ns = 0;
  uint64_t pool = 0;
  int64_t size_bytes = 0;  ///< that it has of the device afterwards
  friend bool operator==(const DriverPoolChanged&, const DriverPoolChanged&) = default;
};

/// The device ran something.
struct DeviceActivity {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t correlation = 0;
  int32_t stream = 0;
  int64_t bytes = 0;  ///< copied or filled
  ActivityKind kind{};
  std::string name;  ///< of the kernel, or "host to device"
  friend bool operator==(const DeviceActivity&, const DeviceActivity&) = default;
};

/// The call that has this number was made in this scope.
struct ScopeOfCall {
  uint32_t correlation = 0;
  ScopeId scope = kNoScope;
  friend bool operator==(const ScopeOfCall&, const ScopeOfCall&) = default;
};

/// A call to the driver that may take memory or give it back.
struct DriverCall {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t correlation = 0;
  std::string name;  ///< "cuMemCreate"
  friend bool operator==(const DriverCall&, const DriverCall&) = default;
};

/// So many records were lost: their watcher had no room for them.
struct RecordsLost {
  int64_t count = 0;
  friend bool operator==(const RecordsLost&, const RecordsLost&) = default;
};

/// Device memory of this process by the driver's count, at one query.
struct DriverCounted {
  int64_t at_ns = 0;
  int64_t bytes = 0;
  friend bool operator==(const DriverCounted&, const DriverCounted&) = default;
};

using DeviceEvent =
    std::variant<ScopeBegan, Allocated, Freed, SegmentChanged, MemoryRefused, DriverMemoryChanged,
                 DriverPoolChanged, DeviceActivity, ScopeOfCall, DriverCall, RecordsLost, DriverCounted>;

/// All events that were captured of one decode.
struct DeviceRecording {
  std::string device;  ///< as RunStats has them
  std::string libraries;
  std::vector<DeviceEvent> events;
  std::vector<TraceSource> sources;
  friend bool operator==(const DeviceRecording&, const DeviceRecording&) = default;
};

}  // namespace headroom::profiler
