#pragma once

#include <cstdint>

#include "decoder/interpreter/memory_observer.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/trace.h"

namespace headroom {

/// What a decode tells while it runs. Called on the decoding thread, between steps; implementations must be
/// quick.
class EventSink {
 public:
  virtual ~EventSink() = default;

  struct StepDone {
    int64_t item = 0;  ///< first batch item of the slice
    int32_t pass = 0;
    int64_t tile = 0;
    int32_t step = 0;
    int64_t live_before_bytes = 0;
    int64_t live_after_bytes = 0;
    int64_t peak_bytes = 0;  ///< live bytes at their highest while the step ran
    double seconds = 0;
  };
  virtual void step_done(const Plan&, const StepDone&) {}
  /// Before the tile's first step.
  virtual void tile_started(const Plan&, int32_t /*pass*/, int64_t /*tile*/, int64_t /*tiles*/) {}

  /// What the pool is asked for from here on is of this kind, for this tensor (-1: for all).
  virtual void allocating(AllocationKind, TensorId) {}
  /// The memory that was asked for since then at this address holds a tile.
  virtual void holds_tile(const void* /*memory*/) {}
  /// Told of the decode's allocations; null where nobody is to be.
  virtual MemoryObserver* memory_observer() { return nullptr; }
};

}  // namespace headroom
