#include <catch2/catch.hpp>

#include "decoder/schedule/build_plan.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

RunStats stats_of(const Model& model, int64_t batch, int64_t micro_batch) {
  const Request request = test::request_for(model, {1, 6, 6}, batch);
  std::vector<PassDecision> decisions(barrier_targets(model.graph).size());
  for (PassDecision& decision : decisions) decision.tile = {1, 64, 64};
  Plan plan = build_plan(model, request, {.micro_batch = micro_batch}, decisions, {});
  plan.limit_bytes = int64_t{1} << 30;
  return test::decode_to_memory(model, plan, test::random_source(1), test::latent_for(model, request, 1))
      .stats;
}

TEST_CASE("a pass's peak is that of its largest micro-batch, which need not be the last") {
  const Model model = test::model_of(test::tiny_config());
  const RunStats two = stats_of(model, 2, 2), one = stats_of(model, 1, 1), uneven = stats_of(model, 3, 2);
  REQUIRE(uneven.passes.size() == two.passes.size());
  for (size_t i = 0; i < two.passes.size(); ++i) {
    CAPTURE(i, two.passes[i].name);
    CHECK(one.passes[i].peak_bytes < two.passes[i].peak_bytes);
    CHECK(uneven.passes[i].peak_bytes == two.passes[i].peak_bytes);
  }
}

}  // namespace
}  // namespace headroom
