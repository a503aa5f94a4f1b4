#pragma once

#include <vector>

#include "reports/figures/document.h"

namespace headroom::reports {

/// Seconds of each pass; of plans without times by FLOPs, one second in all.
std::vector<double> seconds_of_passes(const PlanDocument& document);

/// What no pass takes: loading weights that stay, before the first one.
double seconds_before_passes(const PlanDocument& document);

}  // namespace headroom::reports
