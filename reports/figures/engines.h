#pragma once

#include "reports/figures/peak.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Where the untiled decode that diffusers' code makes has its peak and where a plan has, side by side:
/// bytes, what runs then and what is held. Beside them what a recorded decode took where one of `recordings`
/// is of the same request. Without rows where that code is not known. `plan` must hold a plan.
Table engines_table(const DocumentPtr& plan, const PeakDecision& decision,
                    const std::vector<DocumentPtr>& recordings = {});

/// The largest of what is held, by name and size.
std::string held_text(const std::vector<profiler::EagerTensor>& live);

}  // namespace headroom::reports
