#include "decoder/interpreter/rank_exchange.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/cpu/cpu_device.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

/// Records which messages were waited for.
class NotedExchange final : public Exchange {
 public:
  int32_t rank() const override { return 0; }
  int32_t size() const override { return 2; }
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override {
    Posted posted;
    for (size_t i = 0; i < sends.size(); ++i) posted.sends.push_back(posted_++);
    for (size_t i = 0; i < receives.size(); ++i) posted.receives.push_back(posted_++);
    return posted;
  }
  void wait(Ticket ticket) override { waited.push_back(ticket); }
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override { return {own, own}; }
  void abandon(const char*) noexcept override {}

  std::vector<Ticket> waited;
  Ticket posted() const { return posted_; }

 private:
  Ticket posted_ = 0;
};

TEST_CASE("rank exchange: rows have left and arrived before a sum takes their blocks over") {
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    const Graph graph = testing::small_graph(in_place ? 1 : 3);
    Plan plan = in_place ? testing::small_plan_in_place(graph) : testing::small_plan(graph);
    plan.share = {0, 2, {0, 4}};
    const Sizes sizes = sizes_of(graph, plan);
    const TensorId start = graph.find_tensor("conv_in");
    // Each rank receives a row from the other one.
    const std::vector<RowTransfer> transfers{{0, start, 0, 1, {3, 4}}, {0, start, 1, 0, {4, 5}}};
    std::vector<float> values(size_t{2} * 8 * 8 * 8);
    const MapView view{.region = whole({1, 8, 8}),
                       .channels = 8,
                       .block_rows = 8,
                       .blocks_per_item = 1,
                       .blocks = {values.data(), values.data() + values.size() / 2}};
    LimitedPool pool(1 << 20);
    const ParameterSource none = [](const Parameter&, const Interval&, float*) {};
    PlannedWeights weights(pool, graph, plan, none, nullptr);
    CpuDevice device(graph, sizes, weights, pool);
    NotedExchange exchange;
    const RankLink link{exchange, transfers};
    RankExchange ranks(graph, plan, sizes, device, &link, [&](TensorId) -> const MapView& { return view; });
    ranks.begin_pass(0);
    ranks.end_pass();
    REQUIRE(exchange.posted() == 2);
    REQUIRE(exchange.waited.empty());
    ranks.begin_pass(1);
    std::sort(exchange.waited.begin(), exchange.waited.end());
    CHECK(exchange.waited ==
          (in_place ? std::vector<Exchange::Ticket>{0, 1} : std::vector<Exchange::Ticket>{}));
  }
}

}  // namespace
}  // namespace headroom
