#pragma once

#include "decoder/lowering/peak.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {

/// `live` by the kinds that timelines have. The reserve of a plan for a GPU is gaps of its reservation.
MemoryUse use_of(const LiveBytes& live, DeviceKind device);

}  // namespace headroom::reports
