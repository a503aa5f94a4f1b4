#pragma once

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "planner/cost/cost_model.h"
#include "tests/support/random.h"

namespace headroom::test {

/// Seconds of a picture's pass on an unprofiled GPU, tile by tile and step by step. Follows docs/planning.md
/// ("Time on a GPU without a profile") and shares only the card's figures with the planner. Requires
/// `pass.tiles`.
double simulated_gpu_seconds(const Graph& graph, const Pass& pass, const Sizes& sizes,
                             const planner::GpuCard& card);

/// The planner's cost model for this card, or for a CPU.
planner::CostModel assumed_costs(const Graph& graph, DeviceKind device, const planner::GpuCard& card);

/// The assumed card, or a variant with other bottlenecks: tiny or small caches, one multiprocessor, free
/// launches, slow memory. The allocator can reserve any size.
planner::GpuCard random_card(Random& random);

}  // namespace headroom::test
