#pragma once

#include "decoder/schedule/peak.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {

/// Converts `live` to a timeline's kinds of memory. On a GPU, the reserve counts as gaps of the reservation.
MemoryUse use_of(const LiveBytes& live, DeviceKind device);

}  // namespace headroom::reports
