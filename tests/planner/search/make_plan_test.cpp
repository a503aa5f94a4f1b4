#include "planner/search/make_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/graph/model.h"

namespace headroom::planner {
namespace {

bool keeps_above_a_row(const Plan& plan) {
  return std::any_of(plan.passes.begin(), plan.passes.end(),
                     [](const Pass& pass) { return pass.part != PassPart::whole; });
}

TEST_CASE(
    "one plan on the CPU keeps tensors above a row where it is slow without, unless that is never asked for",
    "[long]") {
  const Model sdxl = resolve_model("sdxl");
  const auto planned = [&](const Request& request, PlanOptions options) {
    const CostModel costs(sdxl.graph, request.device);
    return make_plan({sdxl, request, options, costs}).value();
  };
  const Request slow{"sdxl", 1024, 1024, 1, 1, Dtype::fp32};
  const PlanOptions tight{.limit_bytes = int64_t{480} << 20};
  PlanOptions never = tight;
  never.cuts = Cuts::never;
  const Plan whole = planned(slow, never), faster = planned(slow, tight);
  CHECK_FALSE(keeps_above_a_row(whole));
  CHECK(keeps_above_a_row(faster));
  CHECK(faster.optimal);
  CHECK(faster.predicted_seconds < 0.8 * whole.predicted_seconds);

  // Where time is up before any such plan was found, it is the one that is known, and not proven.
  const CostModel costs(sdxl.graph);
  const Problem problem{sdxl, slow, never, costs};
  const Spaces spaces = spaces_of(problem), above = spaces_above(problem, spaces);
  REQUIRE_FALSE(above.empty());
  const ConfigurationSearch known = fastest_over(spaces, slow, tight.limit_bytes);
  const ConfigurationSearch late =
      faster_over(above, slow, tight.limit_bytes, {.deadline = std::chrono::steady_clock::now()}, known);
  CHECK_FALSE(late.in_time);
  CHECK(late.best.value().seconds == known.best.value().seconds);
  CHECK(late.bound_seconds < known.best->seconds);

  const Request quick{"sdxl", 512, 512, 1, 1, Dtype::fp32};
  CHECK_FALSE(keeps_above_a_row(planned(quick, {.limit_bytes = int64_t{250} << 20})));
  const Request on_gpu{"sdxl", 1024, 1024, 1, 1, Dtype::fp32, DeviceKind::cuda};
  CHECK_FALSE(keeps_above_a_row(planned(on_gpu, tight)));
}

}  // namespace
}  // namespace headroom::planner
