#include "planner/explain/peak.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "planner/explain/explain.h"
#include "planner/explain/why_not.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

int64_t sum_of(const std::vector<LiveEntry>& entries) {
  int64_t bytes = 0;
  for (const LiveEntry& entry : entries) bytes += entry.bytes;
  return bytes;
}

Plan planned(const Model& model) {
  const CostModel costs(model.graph);
  return plan_or_explain(
      {model, {"small", 128, 96, 1, 1, Dtype::fp32}, {.limit_bytes = int64_t{64} << 20}, costs});
}

TEST_CASE("the peak is that of the pass which the plan says needs most") {
  const Model model = test::model_of(test::tiny_config());
  Plan plan = planned(model);
  const PlanPeak peak = peak_of_plan(plan, model);
  CHECK(plan.passes[peak.pass].predicted_peak_bytes == plan.predicted_peak_bytes);
  CHECK(peak.bytes == plan.predicted_peak_bytes);
  CHECK(sum_of(peak.live) == peak.bytes);
  CHECK(peak.step == step_text(plan.passes[peak.pass].steps[peak.point.step], model.graph));
  CHECK(sum_of(by_kind(peak.live)) == peak.bytes);
  for (const LiveEntry& entry : by_kind(peak.live)) CHECK(entry.name == title_of(entry.kind));

  // Only the plan's bytes include workspaces that a profile measured.
  const size_t other = peak.pass == 0 ? 1 : 0;
  plan.passes[other].predicted_peak_bytes = plan.predicted_peak_bytes + 1000;
  const PlanPeak moved = peak_of_plan(plan, model);
  CHECK(moved.pass == other);
  CHECK(moved.bytes == plan.predicted_peak_bytes + 1000);
  CHECK(sum_of(moved.live) == moved.bytes);
}

}  // namespace
}  // namespace headroom::planner
