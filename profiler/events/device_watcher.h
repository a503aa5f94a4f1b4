#pragma once

#include <functional>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// What a watcher is to listen to. Each costs time of its own.
enum class WatchKind : uint8_t {
  kernels,
  copies,  ///< and fills
  memory,  ///< what the driver hands out and takes back
  pools,   ///< the driver's own
  calls    ///< to the driver that take memory or give it back, with names
};
constexpr size_t kWatchKinds = 5;
const char* name_of(WatchKind kind);

/// Somebody who watches a device beside the decode. What he cannot hear is missing, no more: nothing here
/// throws, and no decode fails for it.
class DeviceWatcher {
 public:
  virtual ~DeviceWatcher() = default;

  /// By the clock of his events.
  virtual int64_t now_ns() const = 0;
  /// What the calling thread asks of the device from here on is of this scope; kNoScope: of none.
  virtual void enter(ScopeId scope) noexcept = 0;
  /// Stops listening, once all work is done, and hands on all that was heard, in no order.
  virtual void finish(const std::function<void(DeviceEvent)>& hear) noexcept = 0;
  /// What he listens to, one for each kind that was asked for, and what does not work.
  virtual std::vector<TraceSource> sources() const = 0;
};

}  // namespace headroom::profiler
