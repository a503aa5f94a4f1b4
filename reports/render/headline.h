#pragma once

#include "reports/render/findings.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// Of the first run with statistics beside its plan, or else of the first plan: what the untiled decode
/// needs, the limit, and what was measured. Without figures where the files have no plan.
Headline headline_of(const Findings& found);

}  // namespace headroom::reports
