#pragma once

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "planner/cost/cost_model.h"
#include "tests/support/random.h"

namespace headroom::test {

/// Seconds of a pass of pictures on a GPU that was not profiled, tile by tile and step by step, as
/// docs/planning.md states it ("Time on a GPU without a profile"). Nothing of the planner's own sums is used,
/// only the card's figures. `pass.tiles` must be set.
double simulated_gpu_seconds(const Graph& graph, const Pass& pass, const Sizes& sizes,
                             const planner::GpuCard& card);

/// The planner's costs of that card, or of a CPU.
planner::CostModel assumed_costs(const Graph& graph, DeviceKind device, const planner::GpuCard& card);

/// The assumed card, or one on which other things decide: caches that hold next to nothing or a few rows of
/// small tensors, one multiprocessor, launches that cost nothing, slow memory. Reservations have every size.
planner::GpuCard random_card(Random& random);

}  // namespace headroom::test
