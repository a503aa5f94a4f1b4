#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/lowering/gpu_memory.h"
#include "decoder/lowering/memory.h"

namespace headroom {

using gpu::kPlaceUnit;
/// What is asked for, in whole units: even nothing takes a place.
inline int64_t placed_bytes(int64_t bytes) {
  return allocated_bytes(std::max<int64_t>(1, bytes), DeviceKind::cuda);
}

/// All that a decode asks of its memory, in order.
class MemoryRequests {
 public:
  /// Memory is asked for, or handed back: `bytes` is 0. Requests are numbered from 0.
  struct Event {
    int64_t bytes = 0;
    int64_t number = 0;
    bool operator==(const Event&) const = default;
  };
  /// No plan that is worth running asks more often.
  static constexpr int64_t kMost = int64_t{1} << 22;

  /// Returns the number of the request. `bytes` as from placed_bytes(). Throws InputError beyond kMost.
  int64_t ask(int64_t bytes);
  void hand_back(int64_t number) noexcept { events_.push_back({0, number}); }

  /// What follows may be like what came before: a tile begins.
  void begin_scope() { scopes_.push_back(events_.size()); }

  const std::vector<Event>& events() const { return events_; }
  /// Events that parts begin with, in order.
  const std::vector<size_t>& scopes() const { return scopes_; }
  int64_t count() const { return count_; }

 private:
  std::vector<Event> events_;
  std::vector<size_t> scopes_;
  int64_t count_ = 0;
};

}  // namespace headroom
