#include "planner/cost/exchange_costs.h"

#include <catch2/catch.hpp>

#include "decoder/schedule/build_plan.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/random_plan.h"

namespace headroom::planner {
namespace {

constexpr double kFast = 1e18;

/// small_graph() on two ranks of four rows. Each pass takes a second, in two bands on rank 0 and one on rank
/// 1. The first pass gathers statistics. Each pass but the last makes rows that the other rank reads in the
/// next pass.
struct TwoRanks {
  Model model;
  Plans plan;

  TwoRanks() {
    model.graph = testing::small_graph();
    const Request request{"small", 16, 16, 1, 1, Dtype::fp32};
    const auto keep = [&](const char* name) {
      return PassDecision{.keeps = {model.graph.find_tensor(name)}, .tile = {1, 8, 8}};
    };
    std::vector<PassDecision> decisions{keep("conv_in"), {.tile = {1, 4, 16}}};
    plan = build_plans(model, request, {}, decisions, {}, 2);
    for (Plan& own : plan.plans) {
      for (Pass& pass : own.passes) pass.predicted_seconds = 1;
    }
    plan.link = {kFast, 0};
  }
  double seconds() const { return exchanged_seconds(model.graph, plan); }
};

TEST_CASE("exchange: where the link takes no time, statistics wait for the slowest rank alone") {
  TwoRanks two;
  REQUIRE(two.plan.plans[0].passes.size() == 2);
  CHECK(two.seconds() == Approx(2));
  two.plan.plans[1].passes[0].predicted_seconds = 3;
  two.plan.plans[0].passes[1].predicted_seconds = 5;
  CHECK(two.seconds() == Approx(8));
}

TEST_CASE("exchange: statistics, rows above and the end of the output each take the link's time") {
  TwoRanks two;
  two.plan.link.seconds = 0.1;
  // The link's time counts for the statistics, for the rows above that rank 1 waits for, and for the end of
  // rank 1's output. Rank 0's rows arrive before its last band.
  CHECK(two.seconds() == Approx(2 + 0.1 + 0.1 + 0.1));
}

TEST_CASE("exchange: rows below are hidden behind the bands before the last") {
  TwoRanks two;
  const auto of_rank_0 = [&](bool sends) {
    TwoRanks alike = two;
    std::erase_if(alike.plan.transfers, [&](const RowTransfer& t) { return (t.from == 0) == !sends; });
    alike.plan.sent[1].output_bytes = 0;
    return alike.seconds();
  };
  // On this slow link, one row takes 0.4 s.
  const RowTransfer& above = two.plan.transfers.at(0);
  REQUIRE(above.from == 0);
  const Sizes sizes = sizes_of(two.model.graph, two.plan.plans[0]);
  const double row = double(row_bytes(two.model.graph, above.tensor, sizes));
  const double gathered = gather_seconds(two.plan.sent[0].statistics_bytes / 8,
                                         {2, {row * double(above.rows.length()) / 0.4, 0}});
  two.plan.link.bytes_per_second = row * double(above.rows.length()) / 0.4;
  CHECK(of_rank_0(true) == Approx(2 + gathered + 0.4));
  CHECK(of_rank_0(false) <= 2 + gathered + 0.4 - 0.2);
}

TEST_CASE("exchange: the output goes to rank 0 when all passes are done, no faster than it can take it") {
  TwoRanks two;
  two.plan.transfers.clear();
  two.plan.sent[1] = {0, 0, 1000};
  two.plan.link = {100, 0};
  const double gathered = gather_seconds(two.plan.sent[0].statistics_bytes / 8, {2, two.plan.link});
  CHECK(two.seconds() == Approx(2 + gathered + 10));
}

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
