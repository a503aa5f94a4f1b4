#include <catch2/catch.hpp>

#include "decoder/schedule/build_plan.h"
#include "planner/cost/exchange_costs.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom::planner {
namespace {

TEST_CASE("exchange: a rank sends its second message when the first one has left") {
  Model model;
  model.graph = testing::small_graph();
  const Request request{"small", 16, 16, 1, 1, Dtype::fp32};
  // Each pass of each rank takes a second, in one band.
  std::vector<PassDecision> decisions{{.keeps = {model.graph.find_tensor("conv_in")}, .tile = {1, 8, 8}},
                                      {.tile = {1, 16, 16}}};
  Plans plan = build_plans(model, request, {}, decisions, {}, 3);
  for (Plan& own : plan.plans) {
    for (Pass& pass : own.passes) pass.predicted_seconds = 1;
  }
  for (SentBytes& traffic : plan.sent) traffic.output_bytes = 0;
  // Rank 1 sends rows of conv_in down to rank 2, then equally many up to rank 0. Each message takes half a
  // second.
  int64_t rows = 0;
  std::vector<int32_t> to;
  for (const RowTransfer& transfer : plan.transfers) {
    if (transfer.from != 1) continue;
    rows = transfer.rows.length();
    to.push_back(transfer.to);
  }
  REQUIRE(to == std::vector<int32_t>{2, 0});
  const Sizes sizes = sizes_of(model.graph, plan.plans[1]);
  const double message_bytes = double(rows * row_bytes(model.graph, plan.transfers[0].tensor, sizes));
  plan.link = {message_bytes / 0.5, 0};
  const double gathered = gather_seconds(plan.sent[0].statistics_bytes / 8 / 2, {3, plan.link});
  CHECK(exchanged_seconds(model.graph, plan) == Approx(1 + gathered + 2 * 0.5 + 1));
  // Only rank 0 waits for the second message. Removing it saves half a second.
  std::erase_if(plan.transfers, [](const RowTransfer& transfer) { return transfer.to == 0; });
  CHECK(exchanged_seconds(model.graph, plan) == Approx(1 + gathered + 0.5 + 1));
}

}  // namespace
}  // namespace headroom::planner
