#pragma once

#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// What part of the time of a tile each step takes, on tiles of this extent: all of them together take 1.
/// Steps are weighed by their FLOPs.
std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes);

}  // namespace headroom
