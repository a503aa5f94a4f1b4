#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "decoder/lowering/gpu_layout.h"
#include "decoder/lowering/storage.h"

namespace headroom {

using gpu::kOffsetUnit;
/// Bytes that a request takes of the reservation: whole units, at least one.
inline int64_t aligned_bytes(int64_t bytes) {
  return allocated_bytes(std::max<int64_t>(1, bytes), DeviceKind::cuda);
}

/// All requests that a decode makes of its memory, in order. They are cut into passes, and these into scopes:
/// a scope begins where a tile begins, so scopes that follow one another often ask for the same. Columns of
/// tiles that are known to ask for what an earlier column asked for are marked as repeats of it.
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
    bool movable = false;  ///< between passes it may be moved: nothing but its owner knows where it lies
    bool operator==(const Event&) const = default;
  };
  /// Requests that come and go between these events, and the first of as many of the same sizes and order
  /// that they repeat. While either are live, the same others are.
  struct Repeat {
    size_t first_event = 0, end_event = 0;
    int64_t first = 0;  ///< number of the first request
    int64_t of = 0;     ///< number of the request that it repeats
  };
  /// No plan that is worth running asks more often.
  static constexpr int64_t kMost = int64_t{1} << 22;

  /// Returns the number of the request. `bytes` as from aligned_bytes(). Throws InputError beyond kMost.
  int64_t ask(int64_t bytes, const Series& series = {-1, 0}, bool movable = false);
  void hand_back(int64_t number) noexcept { events_.push_back({0, number, {}, false}); }

  /// Requests until end_repeat() repeat the requests from number `of` on.
  void begin_repeat(int64_t of) { repeats_.push_back({events_.size(), events_.size(), count_, of}); }
  void end_repeat() { repeats_.back().end_event = events_.size(); }

  /// A pass begins, or what a micro-batch takes before its first one. What is asked for from here on stays
  /// where it is put until the next one begins.
  void begin_pass() { passes_.push_back(events_.size()); }

  /// A tile begins, and with it a scope.
  void begin_scope() { scopes_.push_back(events_.size()); }

  const std::vector<Event>& events() const { return events_; }
  /// The index of the first event of each pass, in order. None where nothing may be moved.
  const std::vector<size_t>& passes() const { return passes_; }
  /// The index of the first event of each scope, in order.
  const std::vector<size_t>& scopes() const { return scopes_; }
  const std::vector<Repeat>& repeats() const { return repeats_; }
  int64_t count() const { return count_; }

 private:
  std::vector<Event> events_;
  std::vector<size_t> passes_, scopes_;
  std::vector<Repeat> repeats_;
  int64_t count_ = 0;
};

/// The live range of a request, in events.
struct LiveRange {
  int64_t bytes = 0;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  bool meets(const LiveRange& other) const { return begin < other.end && other.begin < end; }
};

/// By request. What is never handed back has no end.
std::vector<LiveRange> live_ranges_of(const MemoryRequests& requests);
/// The most bytes that are live at one time.
int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<LiveRange>& ranges);

}  // namespace headroom
