#pragma once

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <unordered_map>

#include "decoder/interpreter/events.h"
#include "decoder/plan/trace.h"
#include "decoder/runtime/pool.h"

namespace headroom {

/// How much a recorder holds before it sums up or leaves out.
struct TraceBounds {
  size_t single_events = 300'000;  ///< allocations one by one; from here on sums over steps
  size_t events = 600'000;         ///< from here on sums over passes
  size_t tiles = 200'000;
  size_t steps = 200'000;
  size_t outside = 50'000;
};

/// Records one decode: give it to decode() as its events. Memory stays within the bounds.
class TraceRecorder final : public EventSink, private MemoryObserver {
 public:
  /// Starts the clock. `next` is told of tiles and steps as well; may be null.
  explicit TraceRecorder(EventSink* next = nullptr, const TraceBounds& bounds = {});

  /// What was recorded, once the decode is over. The names are left to the caller.
  Trace finish();

  void step_done(const Plan& plan, const StepDone& done) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  void allocating(AllocationKind kind, TensorId tensor) override;
  void holds_tile(const void* memory) override;
  MemoryObserver* memory_observer() override { return this; }

 private:
  using Bytes = std::array<int64_t, kAllocationKinds>;
  enum class Detail { single, steps, passes };
  struct Held {
    int64_t bytes;
    int64_t number;  ///< counts allocations
    int64_t event;   ///< index of its event; -1 where it was summed up
    TensorId layer;
    AllocationKind kind;
  };

  void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void count(AllocationKind kind, int64_t bytes, TensorId layer);
  /// Puts down what changed since the last time: up to the highest moment, and from there to now.
  void sum_up();
  void put(const Bytes& target, double seconds);
  void sample_outside();
  void end_pass();

  std::mutex mutex_;
  EventSink* next_;
  TraceBounds bounds_;
  std::chrono::steady_clock::time_point start_;
  int64_t resident_at_start_;
  Trace trace_;
  Detail detail_ = Detail::single;
  AllocationKind kind_ = AllocationKind::weights;
  TensorId layer_{-1};
  std::unordered_map<const void*, Held> held_;
  Bytes live_{}, written_{}, highest_{};  // now; by the events; at the highest moment since those
  int64_t highest_bytes_ = 0;
  double highest_seconds_ = 0;
  int64_t allocations_ = 0, step_start_ = 0, highest_at_ = 0;  // numbers of allocations
  int64_t pool_resident_bytes_ = 0;
  double sample_period_seconds_ = 0.02;
  TraceInterval pass_, tile_;
  bool in_pass_ = false, in_tile_ = false;
  std::map<std::pair<int32_t, int32_t>, TraceStepSum> step_sums_;
};

}  // namespace headroom
