#pragma once

#include "decoder/cli/progress.h"
#include "decoder/runtime/decode.h"

namespace headroom {

/// Shows which pass and tile a decode is at.
class ProgressEvents final : public EventSink {
 public:
  explicit ProgressEvents(Progress& progress) : progress_(progress) {}
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override {
    const double share = (pass + double(tile) / double(tiles)) / double(plan.passes.size());
    progress_.show(share, plan.passes[static_cast<size_t>(pass)].name);
  }

 private:
  Progress& progress_;
};

}  // namespace headroom
