#pragma once

#include "decoder/gpu/host_layout.h"
#include "decoder/gpu/placement.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// What a decode on a GPU will ask of its memory, and where everything will lie: found before the decode, by
/// the interpreter itself, on a device that computes nothing.
struct DryRun {
  MemoryRequests requests;
  size_t first_micro_batch =
      0;  ///< the event that the first micro-batch of the batch begins with, and others like it
  size_t last_micro_batch = 0;  ///< that of the last micro-batch, which may be shorter
  Placement placement;
  /// Of weights that stay: they lie before the places, and serve other decodes as well.
  int64_t weights_bytes = 0;
  HostLayout host;

  /// Of the whole reservation.
  int64_t bytes() const { return weights_bytes + placement.bytes; }
  /// Most that are live at one time.
  int64_t live_bytes() const { return weights_bytes + placement.live_bytes; }
};

/// Throws InputError where the plan cannot be run on CUDA.
DryRun run_dry(const Model& model, const Plan& plan);

}  // namespace headroom
