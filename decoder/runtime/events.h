#pragma once

#include <cstdint>

#include "decoder/plan/plan.h"

namespace headroom {

/// What a decode tells while it runs. Called on the decoding thread, between steps; implementations must be quick.
class EventSink {
 public:
  virtual ~EventSink() = default;

  struct StepDone {
    int64_t item = 0;   ///< first batch item of the slice
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
};

}  // namespace headroom
