#include <catch2/catch.hpp>

#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::kOneAround;
using testing::refuses;
using testing::small_graph;
using testing::small_plan;

/// small_plan() for one of two ranks, each with half of the rows, in blocks of one row:
///
///     rank 0   owns rows 0 to 4, stores conv_in and residual to row 5, which is the other's
///     rank 1   owns rows 4 to 8, stores them from row 3 on
Plan small_share(const Graph& graph, int32_t rank) {
  Plan plan = small_plan(graph);
  const int64_t first = rank == 0 ? 0 : 4;
  plan.share = {rank, 2, {first, first + 4}};
  for (size_t p = 0; p < 2; ++p) plan.passes[p].tiles.y = {{first, first + 2}, {first + 2, first + 4}};
  plan.passes[2].tiles.y = {{2 * first, 2 * first + 3}, {2 * first + 3, 2 * first + 8}};
  for (KeptTensor& entry : plan.kept) {
    entry.rows = rank == 0 ? Interval{0, 5} : Interval{3, 8};
    entry.block_rows = 1;
  }
  return plan;
}

TEST_CASE("validator: a rank decodes its own rows and stores those that it reads", "[unit][validator]") {
  const Graph graph = small_graph();
  for (const int32_t rank : {0, 1}) {
    CAPTURE(rank);
    const Plan plan = small_share(graph, rank);
    accepts(plan, graph);
    Plan changed = plan;
    changed.passes[1].tiles.y[1].begin += 1;
    refuses(changed, graph, Violation::skipped_region, "passes[1].tiles.y");
    changed = plan;
    changed.passes[2].tiles.y.pop_back();
    refuses(changed, graph, Violation::skipped_region, "passes[2].tiles.y");

    // Without the row of the other rank.
    changed = plan;
    changed.kept[0].rows = plan.share.latent_rows;
    refuses(changed, graph, Violation::missing_halo, "passes[1].steps[0] (norm)");
    changed = plan;
    changed.kept[1].rows = plan.share.latent_rows;
    refuses(changed, graph, Violation::missing_halo, "passes[2].steps[0] (upsample)");

    // And with more rows than it reads.
    changed = plan;
    changed.kept[0].rows.reset();
    changed.limit_bytes = changed.predicted_peak_bytes = 50'000;
    for (Pass& pass : changed.passes) pass.predicted_peak_bytes = 50'000;
    accepts(changed, graph);
  }
}

TEST_CASE("validator: a rank that decodes alone stores all rows", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[0].rows = Interval{0, 4};
  refuses(plan, graph, Violation::malformed, "kept[0] (conv_in).rows");
}

TEST_CASE("validator: a block that is taken over has the same rows", "[unit][validator]") {
  const Graph graph = small_graph(1);
  Plan plan = small_share(graph, 0);
  const Plan whole = testing::small_plan_in_place(graph);
  plan.passes[1].steps = whole.passes[1].steps;
  plan.kept[1].in_place_of = whole.kept[1].in_place_of;
  accepts(plan, graph);
  plan.kept[0].rows = Interval{0, 4};
  plan.kept[1].rows = Interval{0, 5};
  refuses(plan, graph, Violation::malformed, "kept[1] (residual)");
}

}  // namespace
}  // namespace headroom
