#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/lowering/gpu_layout.h"
#include "decoder/lowering/storage.h"

namespace headroom {

using gpu::kOffsetUnit;
/// What a request for so many bytes takes of the reservation: whole units, at least one.
inline int64_t aligned_bytes(int64_t bytes) {
  return allocated_bytes(std::max<int64_t>(1, bytes), DeviceKind::cuda);
}

/// All requests that a decode makes of its memory, in order. They are cut into scopes: a scope begins where a
/// tile begins, so scopes that follow one another often ask for the same.
class MemoryRequests {
 public:
  /// A request of several that are best placed one behind the other.
  struct Series {
    int64_t before = -1;      ///< number of the one before it; -1 for none
    int64_t bytes_after = 0;  ///< of those that will follow it
    bool operator==(const Series&) const = default;
  };
  /// A request, or the return of one, where `bytes` is 0. Requests are numbered from 0.
  struct Event {
    int64_t bytes = 0;
    int64_t number = 0;
    Series series{};
    bool operator==(const Event&) const = default;
  };
  /// No plan that is worth running asks more often.
  static constexpr int64_t kMost = int64_t{1} << 22;

  /// Returns the number of the request. `bytes` as from aligned_bytes(). Throws InputError beyond kMost.
  int64_t ask(int64_t bytes, const Series& series = {-1, 0});
  void hand_back(int64_t number) noexcept { events_.push_back({0, number, {}}); }

  /// A tile begins, and with it a scope.
  void begin_scope() { scopes_.push_back(events_.size()); }

  const std::vector<Event>& events() const { return events_; }
  /// The index of the first event of each scope, in order.
  const std::vector<size_t>& scopes() const { return scopes_; }
  int64_t count() const { return count_; }

 private:
  std::vector<Event> events_;
  std::vector<size_t> scopes_;
  int64_t count_ = 0;
};

}  // namespace headroom
