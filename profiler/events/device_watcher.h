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
  copies,  ///< and fills
  memory,  ///< what the driver hands out and takes back
  pools,   ///< the driver's own
  calls    ///< to the driver that take memory or give it back, with names
};
constexpr size_t kWatchKinds = 5;
const char* name_of(WatchKind kind);

/// Captures what a device does beside the decode. What a watcher cannot capture is missing from the trace. No
/// function throws, so that no decode fails because of a watcher.
class DeviceWatcher {
 public:
  virtual ~DeviceWatcher() = default;

  /// By the clock of the events.
  virtual int64_t now_ns() const = 0;
  /// From here on the work that the calling thread asks for belongs to this scope; kNoScope: to none.
  virtual void enter(ScopeId scope) noexcept = 0;
  /// Stops capturing, once all work is done, and hands on all captured events, in no order.
  virtual void finish(const std::function<void(DeviceEvent)>& take) noexcept = 0;
  /// A source for each kind that was asked for, and for what does not work.
  virtual std::vector<TraceSource> sources() const = 0;
};

/// Captures nothing; its clock is the host's.
class NoWatcher final : public DeviceWatcher {
 public:
  /// `sources` say why.
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
