#pragma once

#include <vector>

#include "reports/figures/document.h"

namespace headroom::reports {

/// Seconds of each pass; of plans without times by FLOPs, one second in all.
std::vector<double> seconds_of_passes(const PlanDocument& document);

/// What part of the time of a tile each step takes, on tiles of this extent: all of them together take 1.
/// Steps are weighed by their FLOPs.
std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes);

/// What no pass takes: loading weights that stay, before the first one.
double seconds_before_passes(const PlanDocument& document);

}  // namespace headroom::reports
