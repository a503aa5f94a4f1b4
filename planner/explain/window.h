#pragma once

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// Bytes of all blocks of a materialised tensor, in its place.
int64_t stored_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised);

/// The most bytes of a materialised tensor that are on the device at one time in a pass: of one that lives
/// below it, the window of blocks that the sweep has just written, or reads and fetches ahead. Only for valid
/// plans.
int64_t window_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised, size_t pass);
/// The same over all of its passes.
int64_t window_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised);

}  // namespace headroom::planner
