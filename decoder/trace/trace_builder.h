#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// How much a trace holds before it sums up or leaves out.
struct TraceBounds {
  size_t single_events = 300'000;  ///< allocations one by one; from here on sums over steps
  size_t events = 600'000;         ///< from here on sums over passes
  size_t tiles = 200'000;
  size_t steps = 200'000;
  size_t outside = 50'000;
  size_t activities = 200'000;
  size_t exchanges = 100'000;
  size_t places = 50'000;
};
/// The bounds of one rank's trace, so that the file of all ranks is about as large as that of one may be.
TraceBounds bounds_of_rank(int32_t ranks);

/// Makes a trace of events that are added in order: seconds since the start never fall. Its memory stays
/// within the bounds.
class TraceBuilder {
 public:
  explicit TraceBuilder(const TraceBounds& bounds = {}) : bounds_(bounds) {}

  /// Before its first tile; may be left out.
  void pass_started(double at, int32_t pass);
  void tile_started(double at, int32_t pass, int64_t tile);
  /// `step` with its times; whole batch items from `step.item` on.
  void step_done(double at, const Plan& plan, const TraceInterval& step);

  /// Memory that is allocated from here on may turn out to be a tile (holds_tile).
  void allocating() { step_start_ = allocations_; }
  /// Memory that the decode allocates. Once a reservation exists, it comes out of the reservation's slack.
  void allocated(double at, const void* memory, int64_t bytes, MemoryKind kind, TensorId layer);
  /// Records the place of the last allocation at this address. All placed allocations share one range of
  /// addresses.
  void placed(double at, const void* memory);
  /// Memory that was not added before is ignored.
  void freed(double at, const void* memory);
  /// Moves the allocation at `from` to `to`.
  void moved(double at, const void* from, const void* to);
  /// The memory that was asked for since allocating() at this address is a tile's.
  void holds_tile(const void* memory);
  /// Change of memory that the decode does not ask for. `slack` is memory reserved for the decode.
  void changed(double at, MemoryKind kind, int64_t bytes);

  /// A call that began and ended at these times, and the bytes that it sent.
  void exchanged(double begin, double end, ExchangeCall call, int64_t sent_bytes);

  /// Growth of the process outside the pool. Some are left out where there are very many.
  void sample_outside(double at, int64_t bytes);
  /// True where the next sample is due: every now and then.
  bool outside_is_due(double at) const;
  int64_t tile() const { return in_tile_ ? tile_.tile : -1; }
  int32_t pass() const { return in_pass_ ? pass_.pass : -1; }
  const KindBytes& live() const { return live_; }

  /// The names are left to the caller. Nothing can be added afterwards.
  Trace finish(double at);

 private:
  enum class Detail { single, steps, passes };
  struct Held {
    int64_t bytes;
    int64_t number;  ///< counts allocations
    int64_t event;   ///< index of its event; -1 where it was summed up
    TensorId layer;
    MemoryKind kind;
    bool from_reserve;
    int64_t place = -1;  ///< index among the trace's
  };

  void count(double at, MemoryKind kind, int64_t bytes, TensorId layer, bool from_reserve);
  /// Puts down what changed since the last time: up to the highest moment, and from there to now.
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
  std::vector<uintptr_t> addresses_;          ///< of the trace's places
  KindBytes live_{}, written_{}, highest_{};  // now; by the events; at the highest moment since those
  bool reserved_ = false;
  int64_t highest_bytes_ = 0;
  double highest_seconds_ = 0;
  int64_t allocations_ = 0, step_start_ = 0, highest_at_ = 0;  // numbers of allocations
  double sample_period_seconds_ = 0.02;
  TraceInterval pass_, tile_;
  bool in_pass_ = false, in_tile_ = false, pass_has_tiles_ = false;
  std::map<std::pair<int32_t, int32_t>, TraceStepSum> step_sums_;
};

}  // namespace headroom
