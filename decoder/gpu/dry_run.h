#pragma once

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/host_layout.h"
#include "decoder/gpu/placement/placement.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Memory requests of a decode on a GPU, and their placement. The interpreter itself finds them before the
/// decode, on a device whose GPU computes nothing.
struct DryRun {
  MemoryRequests requests;
  size_t first_micro_batch = 0;  ///< the event that every micro-batch of full size begins with
  size_t last_micro_batch = 0;   ///< the event that the last micro-batch begins with, which may be smaller
  std::vector<size_t> passes;    ///< the event that each pass begins with, in the first micro-batch
  Placement placement;
  /// Weights that stay on the GPU. They lie before everything else, and serve other decodes as well.
  int64_t weights_bytes = 0;
  HostLayout host;

  /// Bytes of the whole reservation.
  int64_t bytes() const { return weights_bytes + placement.bytes; }
  /// Most bytes that are live at one time.
  int64_t live_bytes() const { return weights_bytes + placement.live_bytes; }
  /// The end of the highest request that is live while each pass runs.
  std::vector<int64_t> bytes_by_pass() const;
  /// Copies that move blocks before each pass of the first micro-batch.
  std::vector<std::vector<Copy>> copies_by_pass() const;
};

/// Throws InputError where the plan cannot be run on CUDA. `listener` is told what asks for memory, as in a
/// decode, and its observer of each request, in their order; null: nobody listens. The placement is the one
/// that the plan's predicted peak comes from (planner/search/add_gaps.h).
DryRun run_dry(const Model& model, const Plan& plan, EventSink* listener = nullptr);
/// Dry run for planning. Looks for no smaller placement than one of `enough_bytes` (find_placement()).
/// run_dry() of the finished plan finds the same placement.
DryRun run_dry_within(const Model& model, const Plan& plan, int64_t enough_bytes);
/// The first half of run_dry(): the requests, and nothing placed yet. `gpu` is given the calls of the decode,
/// at addresses where no memory is.
DryRun run_dry_on(gpu::Gpu& gpu, const Model& model, const Plan& plan, EventSink* listener = nullptr);

}  // namespace headroom
