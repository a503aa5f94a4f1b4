#pragma once

#include <vector>

#include "decoder/lowering/peak.h"
#include "reports/figures/document.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {

/// The memory model that the plan's peaks were counted by. Workspace depends on the number of threads, which
/// a plan does not name; where it was made for another machine, its peaks tell.
MemoryModel memory_model_of(const PlanDocument& document);

/// `live` by the kinds that timelines have. The reserve of a plan for a GPU is gaps of its reservation.
MemoryUse use_of(const LiveBytes& live, DeviceKind device);

/// What is on the device before the first pass, and at one moment of a pass: by name, largest first.
std::vector<LiveEntry> entries_before_passes(const PlanDocument& document);
std::vector<LiveEntry> entries_at(const PlanDocument& document, size_t pass, const PassSweep& sweep,
                                  const SweepPoint& point);

}  // namespace headroom::reports
