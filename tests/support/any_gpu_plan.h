#pragma once

#include "decoder/gpu/dry_run.h"
#include "decoder/validator/validator.h"
#include "planner/cost/device_costs.h"
#include "planner/search/finish_plan.h"
#include "tests/support/any_plan.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/sanitized.h"

namespace headroom::test {

/// A random plan for CUDA. Its limit is sometimes exactly its live bytes.
inline Plan drawn_gpu_plan(const DrawnRequest& drawn, Random& random) {
  RandomStyle style;
  style.keep = random.pick<double>({0.5, 0.8, 1});
  style.below = random.pick<double>({0, 0.5});
  style.most_tiles = kSanitized ? 3 : 8;
  style.form = ConvolutionAlgorithm::direct;
  MemoryModel memory = planner::cuda_memory_model(drawn.model.graph);
  memory.reserve_bytes = temporary_bytes(drawn.model.graph, device_record(drawn.request.device));
  memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
  const PlanConfiguration configuration{
      drawn.micro_batch, random.chance(0.3) ? WeightResidency::per_pass : WeightResidency::resident,
      MemoryTier::host};
  Plan plan = random_plan(drawn.model, drawn.request, drawn.micro_batch, style, memory, random,
                          norms_of(drawn.model.graph), configuration)
                  .plan;
  const int64_t live_bytes =
      plan.predicted_peak_bytes - bytes_beside_reservation(drawn.model.graph, drawn.request);
  // If gaps leave no room, the decode moves blocks between passes.
  plan.limit_bytes = random.chance(0.3) ? int64_t{1} << 29 : plan.predicted_peak_bytes;
  plan.host_limit_bytes = int64_t{1} << 29;
  planner::add_gaps(plan, drawn.model);
  const std::vector<Violation> violations = validate(plan, drawn.model);
  const std::string violation = violations.empty() ? "" : violations[0].place + ": " + violations[0].what;
  CAPTURE(violation);
  REQUIRE(violations.empty());
  CHECK(run_dry(drawn.model, plan).live_bytes() <= live_bytes);
  return plan;
}

}  // namespace headroom::test
