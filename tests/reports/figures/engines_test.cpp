#include "reports/figures/eager.h"

#include <catch2/catch.hpp>

#include "planner/explain/peak.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

DocumentPtr planned_small(const Model& model, int64_t limit_bytes) {
  const Request request{"small", 64, 48, 1, 1, Dtype::fp32};
  return test::document_of(test::planned(model, request, limit_bytes, planner::CostModel(model.graph)),
                           "plan.json");
}

TEST_CASE("engines: diffusers' peak stands above the plan's, each with its step and what is held") {
  const Model model = test::small_decoder();
  const DocumentPtr plan = planned_small(model, test::kAmple);
  const PeakDecision decision = peak_cause(plan);
  const Table table = engines_table(plan, decision);
  REQUIRE(table.rows.size() == 2);
  const planner::UntiledPeak untiled =
      planner::untiled_peak(model, plan->as<PlanDocument>()->plan.request, planner::CostModel(model.graph));
  REQUIRE(untiled.by_diffusers);
  CHECK(std::get<double>(table.rows[0].cells[1]) == double(untiled.bytes));
  CHECK(std::get<double>(table.rows[1].cells[1]) == double(decision.bytes));
  for (const Row& row : table.rows) {
    CHECK_FALSE(std::get<std::string>(row.cells[2]).empty());
    CHECK_FALSE(std::get<std::string>(row.cells[3]).empty());
  }
}

TEST_CASE("engines: a class whose code is not known has no rows") {
  Model model = test::small_decoder();
  model.class_name = "AutoencoderTiny";
  const DocumentPtr plan = planned_small(model, test::kAmple);
  CHECK(engines_table(plan, peak_cause(plan)).rows.empty());
}

}  // namespace
}  // namespace headroom::reports
