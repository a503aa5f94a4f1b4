#pragma once

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

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
