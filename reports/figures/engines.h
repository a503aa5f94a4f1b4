#pragma once

#include "reports/figures/peak.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Compares the peak of diffusers' untiled decode with a plan's peak: bytes, the step that runs and the
/// tensors held. Adds a row for each decode in `recordings` with the plan's request. Without rows if
/// diffusers' code for the model is unknown. `plan` must hold a plan.
Table engines_table(const DocumentPtr& plan, const PeakDecision& decision,
                    const std::vector<DocumentPtr>& recordings = {});

/// Name and size of the largest held tensors.
std::string held_text(const std::vector<profiler::EagerTensor>& live);

}  // namespace headroom::reports
