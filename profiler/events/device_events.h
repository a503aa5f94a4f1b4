#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "decoder/trace/trace.h"

// Events captured while a device decodes. The decode, LibTorch's allocator and the driver all report in these
// types, so readers of the events depend on none of these libraries. Times are nanoseconds of one clock per
// recording. Events need not be in order of time.

namespace headroom::profiler {

/// Scope: the host's work between two successive steps. Numbered from 1.
enum class ScopeId : uint64_t {};
constexpr ScopeId kNoScope{0};

/// A scope begins: until the next one, the host submits work for this step. -1 between steps.
struct ScopeBegan {
  int64_t at_ns = 0;
  ScopeId scope = kNoScope;
  int64_t item = 0;  ///< first batch item of the micro-batch
  int32_t pass = -1;
  int64_t tile = -1;
  int32_t step = -1;
  friend bool operator==(const ScopeBegan&, const ScopeBegan&) = default;
};

/// The decode allocated memory.
struct Allocated {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
  MemoryKind kind{};  ///< one of the first kDecodeKinds
  TensorId layer{-1};
  friend bool operator==(const Allocated&, const Allocated&) = default;
};
/// The decode freed this memory.
struct Freed {
  int64_t at_ns = 0;
  uint64_t address = 0;
  friend bool operator==(const Freed&, const Freed&) = default;
};

/// LibTorch's allocator took a segment from the driver or gave it back, or mapped or unmapped part of one.
struct SegmentChanged {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;  ///< negative: returned to the driver
  friend bool operator==(const SegmentChanged&, const SegmentChanged&) = default;
};

/// The driver refused memory to LibTorch's allocator.
struct MemoryRefused {
  int64_t at_ns = 0;
  int64_t asked_bytes = 0;
  int64_t free_bytes = 0;  ///< free bytes of the device at that moment
  friend bool operator==(const MemoryRefused&, const MemoryRefused&) = default;
};

enum class MemoryPlace : uint8_t { device, pinned, managed, pageable, unknown };

/// The driver allocated or freed memory.
struct DriverMemoryChanged {
  int64_t at_ns = 0;
  uint64_t address = 0;
  int64_t bytes = 0;         ///< 0 or negative: frees the allocation at this address
  uint32_t correlation = 0;  ///< number of the driver call; wraps around after 2^32
  MemoryPlace place = MemoryPlace::device;
  uint64_t pool = 0;            ///< driver pool; 0: none
  int64_t pool_size_bytes = 0;  ///< bytes that the pool reserves afterwards
  friend bool operator==(const DriverMemoryChanged&, const DriverMemoryChanged&) = default;
};

/// A driver pool was created, destroyed or trimmed.
struct DriverPoolChanged {
  int64_t at_ns = 0;
  uint64_t pool = 0;
  int64_t size_bytes = 0;  ///< bytes that the pool reserves afterwards
  friend bool operator==(const DriverPoolChanged&, const DriverPoolChanged&) = default;
};

/// A kernel, copy or fill on the device.
struct DeviceActivity {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t correlation = 0;
  int32_t stream = 0;
  int64_t bytes = 0;  ///< copied or filled
  ActivityKind kind{};
  std::string name;  ///< kernel name, or "host to device"
  friend bool operator==(const DeviceActivity&, const DeviceActivity&) = default;
};

/// Maps a driver call's number to the scope in which the host made it.
struct ScopeOfCall {
  uint32_t correlation = 0;
  ScopeId scope = kNoScope;
  friend bool operator==(const ScopeOfCall&, const ScopeOfCall&) = default;
};

/// A driver call that may allocate or free memory.
struct DriverCall {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t correlation = 0;
  std::string name;  ///< "cuMemCreate"
  friend bool operator==(const DriverCall&, const DriverCall&) = default;
};

/// Records were lost because the watcher had no room for them.
struct RecordsLost {
  int64_t count = 0;
  friend bool operator==(const RecordsLost&, const RecordsLost&) = default;
};

/// Device memory of this process as counted by the driver at one query.
struct DriverCounted {
  int64_t at_ns = 0;
  int64_t bytes = 0;
  friend bool operator==(const DriverCounted&, const DriverCounted&) = default;
};

using DeviceEvent =
    std::variant<ScopeBegan, Allocated, Freed, SegmentChanged, MemoryRefused, DriverMemoryChanged,
                 DriverPoolChanged, DeviceActivity, ScopeOfCall, DriverCall, RecordsLost, DriverCounted>;

/// All events captured during one decode.
struct DeviceRecording {
  std::string device;  ///< same text as in RunStats
  std::string libraries;
  std::vector<DeviceEvent> events;
  std::vector<TraceSource> sources;
  friend bool operator==(const DeviceRecording&, const DeviceRecording&) = default;
};

/// Kinds of events that a watcher can capture. Each kind slows the decode down.
enum class WatchKind : uint8_t {
  kernels,
  copies,  ///< copies and fills
  memory,  ///< driver allocations and frees
  pools,   ///< driver pools
  calls    ///< driver calls that allocate or free, with names
};
constexpr size_t kWatchKinds = 5;
const char* name_of(WatchKind kind);

/// Captures device events beside the decode's own. Events that a watcher cannot capture are missing from the
/// trace. No function throws, so a watcher cannot make a decode fail.
class DeviceWatcher {
 public:
  virtual ~DeviceWatcher() = default;

  /// Current time, by the clock of the events.
  virtual int64_t now_ns() const = 0;
  /// Assigns further work of the calling thread to this scope; kNoScope: to none.
  virtual void enter(ScopeId scope) noexcept = 0;
  /// Stops capturing and passes all events to `take`, in no order. Call it when all device work is done.
  virtual void finish(const std::function<void(DeviceEvent)>& take) noexcept = 0;
  /// One source for each requested kind, and one for each failure.
  virtual std::vector<TraceSource> sources() const = 0;
};

/// Captures nothing; its clock is the host's.
class NoWatcher final : public DeviceWatcher {
 public:
  /// `sources` explain why nothing is captured.
  explicit NoWatcher(std::vector<TraceSource> sources = {}) : sources_(std::move(sources)) {}

  int64_t now_ns() const override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  void enter(ScopeId) noexcept override {}
  void finish(const std::function<void(DeviceEvent)>&) noexcept override {}
  std::vector<TraceSource> sources() const override { return sources_; }

 private:
  std::vector<TraceSource> sources_;
};

}  // namespace headroom::profiler
