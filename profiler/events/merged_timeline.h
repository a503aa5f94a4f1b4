#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Device times of the work of each scope. The host runs ahead: the device executes submitted work later.
class ScopeTimes {
 public:
  explicit ScopeTimes(const std::vector<DeviceEvent>& events);

  /// The scopes in the order in which they began, as indices into the events.
  const std::vector<size_t>& scopes() const { return scopes_; }
  /// Scope in which the host submitted the activity; null if unknown. Call numbers wrap around after 2^32. If
  /// several scopes match, the last one begun before the activity counts.
  const ScopeBegan* scope_of(const DeviceActivity& activity) const;
  /// True if device times are known for at least one scope.
  bool by_device() const { return !spans_.empty(); }

  struct Span {
    int64_t begin_ns = 0, end_ns = 0;
  };
  /// Time span on the stream of the decode's kernels. Null if no work of the scope was captured there.
  const Span* span_of(ScopeId scope) const;

 private:
  struct Call {
    uint32_t correlation;
    const ScopeBegan* scope;
  };

  std::vector<size_t> scopes_;
  std::vector<Call> calls_;  ///< sorted by correlation number
  std::unordered_map<uint64_t, Span> spans_;
};

/// An event and its time on the merged timeline.
struct TimelineEntry {
  enum class What : uint8_t { ledger, scope_begins, step_ends, allocated, freed, counted };
  int64_t at_ns = 0;
  /// Order of events at the same time: driver allocations first, driver frees last.
  int rank = 1;
  What what{};
  size_t event = 0;
};

/// Merges a recording's events into one timeline. The decode's events keep the host's order and get the times
/// at which the device reaches them. Driver events keep the driver's times.
std::vector<TimelineEntry> merged_timeline_of(const std::vector<DeviceEvent>& events,
                                              const ScopeTimes& times);

}  // namespace headroom::profiler
