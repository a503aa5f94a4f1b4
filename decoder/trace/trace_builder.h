#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Limits of a trace. Beyond them, events are summed and other entries are left out.
struct TraceBounds {
  size_t single_events = 300'000;  ///< up to here one event per allocation; beyond, sums over steps
  size_t events = 600'000;         ///< beyond, sums over passes
  size_t tiles = 200'000;
  size_t steps = 200'000;
  size_t outside = 50'000;
  size_t activities = 200'000;
  size_t exchanges = 100'000;
  size_t places = 50'000;
};
/// Bounds for one rank's trace. The file of all ranks then stays about as small as that of one.
TraceBounds bounds_of_rank(int32_t ranks);

/// Builds a trace from events in time order. Times are seconds since the start of the decode. Its memory
/// stays within the bounds.
class TraceBuilder {
 public:
  explicit TraceBuilder(const TraceBounds& bounds = {}) : bounds_(bounds) {}

  /// Optional. Call it before the pass's first tile.
  void pass_started(double at, int32_t pass);
  void tile_started(double at, int32_t pass, int64_t tile);
  /// Records a completed step. `step.item` is the first batch item of its micro-batch.
  void step_done(double at, const Plan& plan, const TraceInterval& step);

  /// Marks the start of a step. holds_tile() only applies to later allocations.
  void allocating() { step_start_ = allocations_; }
  /// Records an allocation of the decode. Once a reservation exists, the memory comes from its slack.
  void allocated(double at, const void* memory, int64_t bytes, MemoryKind kind, TensorId layer);
  /// Records the place of the last allocation at this address. All placed allocations share one range of
  /// addresses.
  void placed(double at, const void* memory);
  /// Records a free. Unknown addresses are ignored.
  void freed(double at, const void* memory);
  /// Moves the allocation at `from` to `to`.
  void moved(double at, const void* from, const void* to);
  /// Reclassifies the allocation at this address as a tile, if it was made since allocating().
  void holds_tile(const void* memory);
  /// Records a change in memory that the decode does not allocate itself. `slack` is memory reserved for the
  /// decode.
  void changed(double at, MemoryKind kind, int64_t bytes);

  /// Records an exchange call with its times and the bytes sent.
  void exchanged(double begin, double end, ExchangeCall call, int64_t sent_bytes);

  /// Records a sample of the process's growth outside the pool. When there are too many, every second sample
  /// is dropped.
  void sample_outside(double at, int64_t bytes);
  /// True if the next sample is due.
  bool outside_is_due(double at) const;
  int64_t tile() const { return in_tile_ ? tile_.tile : -1; }
  int32_t pass() const { return in_pass_ ? pass_.pass : -1; }
  const KindBytes& live() const { return live_; }

  /// Returns the trace, without model and device names. Nothing can be added afterwards.
  Trace finish(double at);

 private:
  enum class Detail { single, steps, passes };
  struct Held {
    int64_t bytes;
    int64_t number;  ///< sequence number of the allocation
    int64_t event;   ///< index of its event; -1 if summed
    TensorId layer;
    MemoryKind kind;
    bool from_reserve;
    int64_t place = -1;  ///< index in Trace::places
  };

  void count(double at, MemoryKind kind, int64_t bytes, TensorId layer, bool from_reserve);
  /// Adds events for the changes since the last call: first up to the peak, then up to now.
  void sum_up(double at);
  void put(const KindBytes& target, double at);
  void put(double at, MemoryKind kind, int64_t bytes, int64_t slack_bytes, TensorId layer);
  void begin_pass(double at, int32_t pass);
  void end_pass();
  void start_highest(double at);
  void finish_places(double at);

  const TraceBounds bounds_;
  Trace trace_;
  Detail detail_ = Detail::single;
  std::unordered_map<const void*, Held> held_;
  std::vector<uintptr_t> addresses_;          ///< addresses of Trace::places
  KindBytes live_{}, written_{}, highest_{};  // now; after all events so far; at the peak since those
  bool reserved_ = false;
  int64_t highest_bytes_ = 0;
  double highest_seconds_ = 0;
  int64_t allocations_ = 0, step_start_ = 0, highest_at_ = 0;  // allocation counts
  double sample_period_seconds_ = 0.02;
  TraceInterval pass_, tile_;
  bool in_pass_ = false, in_tile_ = false, pass_has_tiles_ = false;
  std::map<std::pair<int32_t, int32_t>, TraceStepSum> step_sums_;
};

}  // namespace headroom
