#include "planner/search/add_gaps.h"

#include <algorithm>

#include "decoder/gpu/dry_run.h"

namespace headroom {

void add_gaps(Plan& plan, const Model& model) {
  if (plan.request.device != DeviceKind::cuda) return;
  const Rehearsal rehearsal = rehearse(model, plan);
  const int64_t gaps = std::max<int64_t>(0, rehearsal.bytes() - plan.predicted_peak_bytes);
  plan.reserve_bytes += gaps;
  plan.predicted_peak_bytes += gaps;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes += gaps;
  plan.limit_bytes = std::max(plan.limit_bytes, plan.predicted_peak_bytes);
  plan.host_limit_bytes = std::max(plan.host_limit_bytes, rehearsal.host.bytes);
}

}  // namespace headroom
