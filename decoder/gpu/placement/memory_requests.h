#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "decoder/gpu/placement/buffers.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"

namespace headroom {

using gpu::kOffsetUnit;
/// Bytes that a request uses in the reservation: a multiple of the unit, at least one unit.
inline int64_t aligned_bytes(int64_t bytes) {
  return gpu_storage().allocated_bytes(std::max<int64_t>(1, bytes));
}

/// All memory requests of a decode, in order. They are divided into passes, and passes into scopes. Each tile
/// begins a scope, so consecutive scopes often make the same requests. Columns of tiles that make the
/// requests of an earlier column are marked as its repeats.
class MemoryRequests {
 public:
  /// Hint: place these requests contiguously, in order.
  struct Series {
    int64_t before = -1;      ///< number of the previous request in the series; -1: none
    int64_t bytes_after = 0;  ///< total size of the requests that follow in the series
    bool operator==(const Series&) const = default;
  };
  /// A request, or the return of one if `bytes` is 0. Requests are numbered from 0.
  struct Event {
    int64_t bytes = 0;
    int64_t number = 0;
    Series series{};
    bool movable = false;  ///< may move between passes: only its owner holds its address
    bool operator==(const Event&) const = default;
  };
  /// Requests made and returned between these events repeat earlier ones: same sizes, same order. The same
  /// other requests are live beside both.
  struct Repeat {
    size_t first_event = 0, end_event = 0;
    int64_t first = 0;  ///< number of the first request
    int64_t of = 0;     ///< number of the first repeated request
  };
  /// Most requests. No useful plan needs more.
  static constexpr int64_t kMost = int64_t{1} << 22;

  /// Returns the number of the request. `bytes` as from aligned_bytes(). Throws InputError beyond kMost.
  int64_t ask(int64_t bytes, const Series& series = {-1, 0}, bool movable = false);
  void hand_back(int64_t number) noexcept { events_.push_back({0, number, {}, false}); }

  /// Requests until end_repeat() repeat the requests from number `of` on.
  void begin_repeat(int64_t of) { repeats_.push_back({events_.size(), events_.size(), count_, of}); }
  void end_repeat() { repeats_.back().end_event = events_.size(); }

  /// Begins a pass, or the requests of a micro-batch before its first pass. Blocks move only at these points.
  void begin_pass() { passes_.push_back(events_.size()); }

  /// Begins a tile's scope.
  void begin_scope() { scopes_.push_back(events_.size()); }

  const std::vector<Event>& events() const { return events_; }
  /// The index of the first event of each pass, in order. Empty if nothing may move.
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

/// End of a buffer that is never returned.
constexpr int64_t kNeverReturned = std::numeric_limits<int64_t>::max();

/// Live ranges by request, in events.
std::vector<Buffer> live_ranges_of(const MemoryRequests& requests);
/// The most bytes that are live at one time.
int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<Buffer>& ranges);

/// The requests of a pass, renumbered. Live blocks of earlier passes come first.
struct PassRequests {
  size_t begin = 0;                            ///< first event of the pass in the decode
  std::vector<size_t> numbers;                 ///< in the decode
  std::vector<Buffer> buffers;                 ///< live ranges are in events of this pass
  std::vector<MemoryRequests::Series> series;  ///< uses the numbers of this pass
  std::vector<int64_t> events;                 ///< n for request n, ~n for its return
  size_t standing = 0;
  int64_t fixed_bytes = 0;  ///< size of the fixed requests in front of the pass's own
};

/// The requests of a decode, pass by pass.
struct RequestsByPass {
  /// A request that cannot move but outlives its pass. These requests lie contiguously at the beginning of
  /// the reservation, for a whole micro-batch.
  struct Fixed {
    size_t number = 0;
    int64_t offset = 0;
  };
  std::vector<Fixed> fixed;
  std::vector<PassRequests> passes;
  int64_t live_bytes = 0;  ///< peak of live bytes
};

/// All requests as one pass, in which nothing moves. They must have no repeats.
RequestsByPass as_one_pass(const MemoryRequests& all);

/// Splits requests into passes. They must have no repeats. Returns a single pass if nothing may move, or if
/// an immovable request in the middle of a micro-batch outlives its pass.
RequestsByPass by_pass(const MemoryRequests& all);

/// Requests that need offsets of their own.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by original request: the kept request whose offset it uses
};

/// Leaves out requests that can use the offset of another request. There are two rules:
///
/// 1. A column of tiles that repeats an earlier one uses its offsets.
/// 2. Inner requests are returned within their own scope; all others are outer requests. Two scopes may make
///    inner requests in the same order. One of them is left out if each of its requests is no larger than its
///    counterpart, and every outer request live beside it is also live beside the counterpart. So one tile of
///    a band remains. Among bands beside a tensor that only grows or only shrinks, the band beside the most
///    memory remains.
///
/// Scopes of different passes never replace each other.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
