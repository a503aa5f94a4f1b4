#include "decoder/gpu/limit_check.h"

#include <string>

#include "decoder/base/errors.h"
#include "decoder/schedule/memory.h"

namespace headroom {

DryRun run_dry_within_limit(const Model& model, const Plan& plan, const ReservationSizes& sizes) {
  DryRun dry_run = run_dry(model, plan);
  const int64_t taken_bytes = sizes.taken_bytes(dry_run.bytes());
  const int64_t limit_bytes = plan.limit_bytes - picture_bytes(model.graph, plan.request);
  if (taken_bytes > limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(taken_bytes) +
                        " bytes of the GPU's memory, limit " + std::to_string(limit_bytes));
  }
  const bool limited = dry_run.host.bytes > 0 || plan.host_limit_bytes > 0;
  if (limited && dry_run.host.bytes + plan.host_weights_bytes > plan.host_limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(dry_run.host.bytes) +
                        " bytes of the host's memory for kept tensors and " +
                        std::to_string(plan.host_weights_bytes) + " for weights, limit " +
                        std::to_string(plan.host_limit_bytes));
  }
  return dry_run;
}

}  // namespace headroom
