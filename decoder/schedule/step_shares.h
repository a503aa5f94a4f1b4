#pragma once

#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Each step's fraction of the time of a tile of this extent, estimated from FLOPs. The fractions add up
/// to 1.
std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes);

}  // namespace headroom
