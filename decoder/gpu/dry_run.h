#pragma once

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/placement/placement.h"
#include "decoder/gpu/transfers/host_layout.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Memory requests of a decode on a GPU, and their placement. To find them, the interpreter executes the plan
/// on a DryGpu before the decode.
struct DryRun {
  MemoryRequests requests;
  size_t first_micro_batch = 0;  ///< event at which every full micro-batch begins
  size_t last_micro_batch = 0;   ///< event at which the last micro-batch begins, which may be smaller
  std::vector<size_t> passes;    ///< first event of each pass in the first micro-batch
  Placement placement;
  /// Bytes of weights that stay on the GPU and are shared between decodes. They come first in the
  /// reservation.
  int64_t weights_bytes = 0;
  HostLayout host;

  /// Bytes of the whole reservation.
  int64_t bytes() const { return weights_bytes + placement.bytes; }
  /// Most bytes that are live at one time.
  int64_t live_bytes() const { return weights_bytes + placement.live_bytes; }
  /// For each pass, the highest end offset of the requests that are live while it runs.
  std::vector<int64_t> bytes_by_pass() const;
  /// Copies that move blocks before each pass of the first micro-batch.
  std::vector<std::vector<Copy>> copies_by_pass() const;
};

/// Throws InputError if the plan cannot run on CUDA. `listener`, if not null, receives the events of a
/// decode, and its memory observer receives each request in order. The placement is the one behind the plan's
/// predicted peak (planner/search/finish_plan.h).
DryRun run_dry(const Model& model, const Plan& plan, EventSink* listener = nullptr);
/// Dry run for planning. Stops the search at the first placement within `enough_bytes` (find_placement()).
/// run_dry() of the finished plan finds the same placement.
DryRun run_dry_within(const Model& model, const Plan& plan, int64_t enough_bytes,
                      EventSink* listener = nullptr);
/// The first half of run_dry(): collects the requests without placing them. `gpu` receives the decode's
/// calls. Their addresses are not backed by memory.
DryRun run_dry_on(gpu::Gpu& gpu, const Model& model, const Plan& plan, EventSink* listener = nullptr);

}  // namespace headroom
