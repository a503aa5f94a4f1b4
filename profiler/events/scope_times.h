#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// When the device did the work of each scope. The host runs ahead: what it asks for happens on the device
/// later.
class ScopeTimes {
 public:
  explicit ScopeTimes(const std::vector<DeviceEvent>& events);

  /// The scopes in the order in which they began, as indices into the events.
  const std::vector<size_t>& scopes() const { return scopes_; }
  /// Null where it is not known for which scope the call was made. Numbers of calls begin again after 2^32 of
  /// them: of several scopes it is the one that the host had last begun then.
  const ScopeBegan* scope_of(const DeviceActivity& activity) const;
  /// True where some scope is known to have run on the device.
  bool by_device() const { return !spans_.empty(); }

  struct Span {
    int64_t begin_ns = 0, end_ns = 0;
  };
  /// On the stream of the decode's kernels; null where no work of the scope was captured there.
  const Span* span_of(ScopeId scope) const;

 private:
  struct Call {
    uint32_t correlation;
    const ScopeBegan* scope;
  };

  std::vector<size_t> scopes_;
  std::vector<Call> calls_;  ///< by number
  std::unordered_map<uint64_t, Span> spans_;
};

}  // namespace headroom::profiler
