#include "planner/gpu_places.h"

#include <algorithm>

#include "decoder/gpu_runtime/rehearsal.h"

namespace headroom {

void add_gaps(Plan& plan, const Model& model) {
  if (plan.request.device != DeviceKind::cuda) return;
  const int64_t bytes = rehearse(model, plan).bytes();
  const int64_t gaps = std::max<int64_t>(0, bytes - plan.predicted_peak_bytes);
  plan.reserve_bytes += gaps;
  plan.predicted_peak_bytes += gaps;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes += gaps;
}

}  // namespace headroom
