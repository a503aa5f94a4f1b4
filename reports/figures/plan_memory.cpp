#include "reports/figures/plan_memory.h"

namespace headroom::reports {

MemoryUse use_of(const LiveBytes& live, DeviceKind device) {
  MemoryUse use{live.resident_weights + live.pass_weights, live.latent + live.state, live.kept,
                live.step.tiles + live.step.carried, live.step.workspace};
  const LiveEntry reserve = planner::reserve_entry(live.reserve, device);
  use[static_cast<size_t>(reserve.kind)] += reserve.bytes;
  use[static_cast<size_t>(MemoryKind::outside)] += live.picture;
  return use;
}

}  // namespace headroom::reports
