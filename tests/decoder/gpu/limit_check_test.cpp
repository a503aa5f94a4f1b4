#include "decoder/gpu/limit_check.h"

#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/schedule/build_plan.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

/// small_graph() on CUDA with conv_in in the host's memory.
Plan plan_with_host_tensor(const Model& model) {
  Request request{"small", 16, 16, 1, 2, Dtype::bf16};
  request.device = DeviceKind::cuda;
  const TensorId start = model.graph.find_tensor("conv_in");
  const std::vector<PassDecision> decisions{{.keeps = {start}, .below = {start}, .tile = {1, 3, 8}},
                                            {.tile = {1, 6, 16}}};
  Plan plan = build_plan(model, request, {.micro_batch = 2, .lower_tier = MemoryTier::host}, decisions, {});
  plan.limit_bytes = int64_t{1} << 30;
  plan.host_limit_bytes = int64_t{1} << 30;
  return plan;
}

TEST_CASE("limit check: a plan whose tensors exceed the host limit by a byte is refused") {
  Model model;
  model.graph = testing::small_graph();
  Plan plan = plan_with_host_tensor(model);
  const int64_t host_bytes = host_layout(model.graph, plan).bytes;
  REQUIRE(host_bytes > 0);
  plan.host_limit_bytes = host_bytes;
  CHECK(run_dry_within_limit(model, plan, {}).host.bytes == host_bytes);
  plan.host_limit_bytes = host_bytes - 1;
  CHECK_THROWS_AS(run_dry_within_limit(model, plan, {}), LimitExceeded);
  // Weights in pinned memory count as well.
  plan.host_limit_bytes = host_bytes + 99;
  plan.host_weights_bytes = 100;
  CHECK_THROWS_WITH(run_dry_within_limit(model, plan, {}),
                    Catch::Contains("limit " + std::to_string(host_bytes + 99)));
}

TEST_CASE("limit check: a reservation beyond the limit by a byte is refused") {
  Model model;
  model.graph = testing::small_graph();
  Plan plan = plan_with_host_tensor(model);
  plan.limit_bytes = run_dry(model, plan).bytes();
  plan.predicted_peak_bytes = plan.limit_bytes;
  CHECK_NOTHROW(run_dry_within_limit(model, plan, {}));
  plan.limit_bytes -= 1;
  CHECK_THROWS_AS(run_dry_within_limit(model, plan, {}), LimitExceeded);
}

}  // namespace
}  // namespace headroom
