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
  int32_t block = 0;
  for (KeptTensor& entry : plan.kept) {
    entry.rows = rank == 0 ? Interval{0, 5} : Interval{3, 8};
    entry.block_rows = 1;
    entry.blocks.clear();
    for (size_t i = 0; i < 10; ++i) entry.blocks.push_back(block++);
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
    changed = plan;
    changed.kept[0].blocks.pop_back();
    refuses(changed, graph, Violation::malformed, "kept[0] (conv_in).blocks");

    // Without the row of the other rank.
    changed = plan;
    changed.kept[0].rows = plan.share.latent_rows;
    changed.kept[0].blocks.resize(8);
    refuses(changed, graph, Violation::missing_halo, "passes[1].steps[0] (norm)");
    changed = plan;
    changed.kept[1].rows = plan.share.latent_rows;
    changed.kept[1].blocks.resize(8);
    refuses(changed, graph, Violation::missing_halo, "passes[2].steps[0] (upsample)");

    // And with more rows than it reads.
    changed = plan;
    changed.kept[0].rows.reset();
    changed.kept[0].blocks = {0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 24, 25, 26, 27};
    changed.limit_bytes = changed.predicted_peak_bytes = 50'000;
    for (Pass& pass : changed.passes) pass.predicted_peak_bytes = 50'000;
    changed.kept[1].blocks = {30, 31, 32, 33, 34, 35, 36, 37, 38, 39};
    accepts(changed, graph);
  }
}

TEST_CASE("validator: rows of other ranks have their blocks when those beside them are written",
          "[unit][validator]") {
  const Graph graph = small_graph();
  const auto takes = [&](int32_t rank, size_t block, size_t of_conv_in, bool possible) {
    CAPTURE(rank, block, of_conv_in);
    Plan plan = small_share(graph, rank);
    for (const size_t item : {size_t{0}, size_t{5}})
      plan.kept[1].blocks[item + block] = plan.kept[0].blocks[item + of_conv_in];
    if (possible) {
      accepts(plan, graph);
    } else {
      refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
    }
  };
  // Rank 1's row 3 comes with its first band, which still reads row 3 of conv_in; its own last rows later.
  takes(1, 0, 0, false);
  takes(1, 4, 0, true);
  takes(1, 4, 1, true);
  takes(1, 4, 2, false);  // row 5, which the second band reads
  // Rank 0's row 4 comes with its last band. The first row of conv_in is gone then.
  takes(0, 4, 0, true);
  takes(0, 4, 1, false);
  takes(0, 0, 0, false);
}

TEST_CASE("validator: rows above a rank's own that the last pass does not read leave with its first band",
          "[unit][validator]") {
  // Pass 1 reads conv_in with a halo, and the last pass only its own rows, to add them.
  Graph graph;
  const TensorId start = graph.conv("conv_in", graph.add_latent(4), 8, {1, 3, 3});
  const TensorId first = graph.conv("first", start, 8, {1, 3, 3});
  const TensorId second = graph.conv("second", first, 8, {1, 1, 1});
  const TensorId sum = graph.add("sum", second, start);
  graph.set_output(graph.conv("out", sum, 3, {1, 1, 1}));
  const auto step = [&](StepKind kind, const char* tensor, std::vector<Operand> inputs, Halo halo = {},
                        Axes<int32_t> pad = {}) {
    return testing::step_for(graph, kind, tensor, std::move(inputs), halo, pad);
  };
  Plan plan = small_share(small_graph(), 1);
  plan.request.width_pixels = plan.request.height_pixels = 8;
  plan.passes[2].scale = {1, 1, 1};
  plan.passes[2].tiles = plan.passes[1].tiles;
  plan.passes[0].steps.erase(plan.passes[0].steps.begin() + 2);
  plan.passes[1].steps = {
      step(StepKind::gather, "conv_in", {{start}}, kOneAround, testing::kPadOne),
      step(StepKind::conv, "first", {{start, 0}}),
      step(StepKind::store, "first", {{first, 1}}),
  };
  plan.passes[2].steps = {
      step(StepKind::gather, "first", {{first}}),
      step(StepKind::conv, "second", {{first, 0}}),
      step(StepKind::add, "sum", {{second, 1}, {start}}),
      step(StepKind::store, "sum", {{sum, 2}}),
  };
  plan.passes.push_back(plan.passes[2]);
  plan.passes[3].steps = {step(StepKind::gather, "sum", {{sum}}), step(StepKind::conv, "out", {{sum, 0}}),
                          step(StepKind::emit, "out", {{graph.output(), 1}})};
  plan.kept[0].last_pass = 2;
  plan.kept[1].tensor = first;
  plan.kept[1].rows = Interval{4, 8};
  plan.kept[1].blocks.resize(8);
  plan.kept.push_back({.tensor = sum, .first_pass = 2, .last_pass = 3});
  plan.kept[2].rows = Interval{4, 8};
  plan.kept[2].block_rows = 1;
  plan.kept[2].blocks = {30, 31, 32, 33, 34, 35, 36, 37};
  plan.limit_bytes = plan.predicted_peak_bytes = 50'000;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes = 50'000;
  accepts(plan, graph);
  // Row 3's block is free in the second band, as is that of row 4, which the first band reads; not before.
  for (const int32_t block : {0, 1}) {
    CAPTURE(block);
    Plan changed = plan;
    changed.kept[2].blocks[2] = plan.kept[0].blocks[static_cast<size_t>(block)];
    accepts(changed, graph);
    changed.kept[2].blocks[1] = plan.kept[0].blocks[static_cast<size_t>(block)];
    refuses(changed, graph, Violation::block_conflict, "kept[2] (sum)");
  }
}

TEST_CASE("validator: a block that is taken over has the same rows", "[unit][validator]") {
  const Graph graph = small_graph(1);
  Plan plan = small_share(graph, 0);
  const Plan whole = testing::small_plan_in_place(graph);
  plan.passes[1].steps = whole.passes[1].steps;
  plan.kept[1].in_place_of = whole.kept[1].in_place_of;
  plan.kept[1].blocks = plan.kept[0].blocks;
  accepts(plan, graph);
  plan.kept[0].rows = Interval{0, 4};
  plan.kept[0].blocks.resize(8);
  plan.kept[1].rows = Interval{0, 5};
  refuses(plan, graph, Violation::malformed, "kept[1] (residual)");
}

}  // namespace
}  // namespace headroom
